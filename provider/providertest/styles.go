package providertest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// leads is where the links of the sends here lead.
const leads = "https://example.org/7"

// add adds words in a style, empty for none, to a send.
func add(s *botmesh.Send, words string, style botmesh.Style) botmesh.Span {
	span := botmesh.Span{From: len(s.Text), To: len(s.Text) + len(words), Style: style}
	if style == botmesh.StyleLink {
		span.URL = leads
	}
	if s.Text += words; style != "" {
		s.Spans = append(s.Spans, span)
	}
	return span
}

// styled is a formatted text that is longer than most platforms take at once, and how it is
// sent if only some of its spans are shown.
func styled(shows func(botmesh.Span) bool) (send, want botmesh.Send) {
	for range 120 {
		for _, piece := range []struct {
			words string
			style botmesh.Style
		}{{"Order ", ""}, {"é now 😀", botmesh.StyleBold}, {", see ", ""}, {"this", botmesh.StyleLink}, {": ", ""}, {"go run .", botmesh.StyleCode}, {" 👩‍👧\n", ""}} {
			style := piece.style
			if style != "" && !shows(add(&send, piece.words, style)) {
				style = ""
			} else if style == "" {
				add(&send, piece.words, "")
			}
			if add(&want, piece.words, style); piece.style == botmesh.StyleLink && style == "" {
				add(&want, " ("+leads+")", "")
			}
		}
	}
	return send, want
}

// styles cuts and sends a formatted text: each part has its spans, none that is not shown,
// and is taken; all is there, in its styles.
func (p Platform) styles(t *testing.T) {
	t.Helper()
	api := "http://127.0.0.1:1"
	if p.Fake != nil {
		srv := httptest.NewServer(p.Fake())
		defer srv.Close()
		api = srv.URL
	}
	s := p.Sender(t, api)
	styler, _ := s.(provider.Styler)
	shows := func(span botmesh.Span) bool { return styler != nil && styler.Styles(span) }
	send, want := styled(shows)
	parts, err := provider.Split(s, send)
	if err != nil {
		t.Fatal(err)
	}
	var got []provider.Run
	for i, part := range parts {
		if err := part.Validate(); err != nil {
			t.Errorf("part %d: got %v, want spans within it", i, err)
		}
		for _, span := range part.Spans {
			if !shows(span) {
				t.Errorf("part %d: got the span %+v, want none that is not shown", i, span)
			}
		}
		got = append(got, letters(provider.Runs(part))...)
		if p.Fake == nil {
			continue
		}
		c := provider.Call{Part: fmt.Sprintf("p/1.2/5.%d", i), Chat: botmesh.ChatKey{Provider: s.ID(), Chat: p.Chat}, Send: part}
		if _, err := s.Call(t.Context(), c); err != nil {
			t.Errorf("part %d: got %v, want it taken", i, err)
		}
	}
	if diff := cmp.Diff(letters(provider.Runs(want)), got); diff != "" {
		t.Errorf("characters of %d parts (-want +got):\n%s", len(parts), diff)
	}
}

// letters are the characters that are seen, each in its styles.
func letters(runs []provider.Run) (all []provider.Run) {
	for _, r := range runs {
		for _, c := range r.Text {
			if r.Text = string(c); !unicode.IsSpace(c) {
				all = append(all, r)
			}
		}
	}
	return all
}

// unstyled has the styles of a text refused: the plain text follows at once.
func (p Platform) unstyled(t *testing.T) {
	t.Helper()
	var taken Answer
	for _, a := range p.Answers {
		if strings.HasPrefix(a.Want, "sent ") {
			taken = a
		}
	}
	var mu sync.Mutex
	var bodies []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if bodies = append(bodies, string(body)); len(bodies) == 1 {
			p.Unstyled.write(w)
		} else {
			taken.write(w)
		}
	}))
	defer srv.Close()
	s := p.Sender(t, srv.URL)
	var send botmesh.Send
	add(&send, "See ", "")
	add(&send, "it", botmesh.StyleLink)
	add(&send, " now", botmesh.StyleBold)
	sent, err := s.Call(t.Context(), provider.Call{Part: "p/1.2/4.0", Chat: botmesh.ChatKey{Provider: s.ID(), Chat: p.Chat}, Send: send})
	mu.Lock()
	defer mu.Unlock()
	const plain = "See it (" + leads + ") now"
	if got := Verdict(sent, err); got != taken.Want || len(bodies) != 2 || strings.Contains(bodies[0], plain) || !strings.Contains(bodies[1], plain) {
		t.Errorf("got %s after the calls %q, want %s, and the plain text by a second call", got, bodies, taken.Want)
	}
}
