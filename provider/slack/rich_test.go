package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/slack/slacktest"
)

const order = "https://example.org/7?a=1&b=2"

// marked is a send of which the first stretches of text that say so have styles.
func marked(text string, styles ...string) botmesh.Send {
	s := botmesh.Send{Text: text}
	for i := 0; i < len(styles); i += 2 {
		at := strings.Index(text, styles[i])
		span := botmesh.Span{From: at, To: at + len(styles[i]), Style: botmesh.Style(styles[i+1])}
		if span.Style == botmesh.StyleLink {
			span.URL = order
		}
		s.Spans = append(s.Spans, span)
	}
	return s
}

func TestRich(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		send botmesh.Send
		want string // section in [], code in ```
	}{
		"styles":       {marked("a b c d e", "a", "bold", "b c", "italic", "c", "strike", "e", "code"), `[{bold}a| |{italic}b |{italic strike}c| d |{code}e]`},
		"link":         {marked("see it <&>", "see it", "bold", "it", "link"), `[{bold}see |{bold}it→` + order + `| <&>]`},
		"code as link": {marked("see it", "it", "code", "it", "link"), `[see |it→` + order + `]`},
		"code":         {marked("a\n\nb\nc\n\nd", "b\nc", "pre"), "[a\n]```b\nc```[\nd]"},
		"only code":    {marked("a\nb", "a\nb", "pre"), "```a\nb```"},
		"code twice":   {marked("a\nb", "a", "pre", "b", "pre"), "```a``````b```"},
		"address":      {marked("a (https://example.org/x_y). z", "x_", "bold", "z", "bold"), `[a (|https://example.org/→https://example.org/x_y|{bold}x_→https://example.org/x_y|y→https://example.org/x_y|). |{bold}z]`},
		"no address":   {marked("https://u:p@example.net/ https:// z", "z", "bold"), `[https://u:p@example.net/ https:// |{bold}z]`},
		"address code": {marked("https://example.org/ a", "https://example.org/ ", "code"), `[{code}https://example.org/ |a]`},
	} {
		if diff := cmp.Diff(c.want, drawn(rich(c.send))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// drawn is a rich text as a text.
func drawn(all []stretch) string {
	var b strings.Builder
	for _, s := range all {
		var phrases []string
		for _, p := range s.Elements {
			var styles []string
			if p.Style != nil {
				data, _ := json.Marshal(p.Style)
				for name := range strings.SplitSeq(strings.Trim(string(data), "{}"), ",") {
					styles = append(styles, strings.Trim(strings.TrimSuffix(name, ":true"), `"`))
				}
				p.Text = "{" + strings.Join(styles, " ") + "}" + p.Text
			}
			if p.Type == "link" {
				p.Text += "→" + p.URL
			}
			phrases = append(phrases, p.Text)
		}
		form := "[]"
		if s.Type == preformatted {
			form = "``````"
		}
		b.WriteString(form[:len(form)/2] + strings.Join(phrases, "|") + form[len(form)/2:])
	}
	return b.String()
}

// recorded is a fake that shows the blocks and the text of the last call.
func recorded(t *testing.T) (*slacktest.Server, *Sender, *recording) {
	t.Helper()
	sl := slacktest.New(testToken)
	last := &recording{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		*last = recording{}
		if err := json.Unmarshal(body, last); err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err == nil {
			sl.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	return sl, newSender(t, srv.URL), last
}

type recording struct {
	Text   string
	Blocks []struct{ Type string }
}

// types are those of the blocks.
func (r *recording) types() string {
	var all []string
	for _, b := range r.Blocks {
		all = append(all, b.Type)
	}
	return strings.Join(all, " ")
}

// SPEC: O8
func TestCallShowsStyles(t *testing.T) {
	t.Parallel()
	sl, s, last := recorded(t)
	send := marked("See <it> now", "<it>", "link", "now", "bold")
	for n, c := range []struct {
		media *botmesh.Media
		rows  [][]botmesh.Button
		want  string
	}{
		{nil, nil, "rich_text"},
		{nil, row("Yes"), "rich_text actions"},
		{image("https://example.org/a.png"), nil, "image rich_text"},
		{image("https://example.org/a.png"), row("Yes"), "image rich_text actions"},
	} {
		send.Media, send.Buttons = c.media, c.rows
		parts, err := provider.Split(s, send)
		if err != nil || len(parts) != 1 {
			t.Fatalf("%s: got %d parts and %v, want one", c.want, len(parts), err)
		}
		sent, err := s.Call(t.Context(), to(dm, parts[0]))
		if err != nil {
			t.Fatalf("%s: got %v, want no error", c.want, err)
		}
		if got := last.types(); got != c.want || last.Text != "See &lt;it&gt; now" {
			t.Errorf("got the blocks %s and the text %q, want %s and the plain text", got, last.Text, c.want)
		}
		got := sl.Chat(dm)
		if len(got) != n+1 || got[n].Text != "See <it> now" || len(got[n].Buttons) != len(c.rows) {
			t.Errorf("%s: got %+v, want it once", c.want, got)
		}
		if c.media != nil {
			continue
		}
		if err := s.Edit(t.Context(), to(dm, parts[0]), sent.MessageID); err != nil || last.types() != c.want {
			t.Errorf("%s: got %v and the blocks %s by an edit, want the same", c.want, err, last.types())
		}
	}
}

// Slack took nothing of what it refused, so the plain text comes once.
//
// SPEC: O5
func TestStylesThatSlackRefuses(t *testing.T) {
	t.Parallel()
	send := marked("See it <now>", "it", "link", "<now>", "bold")
	const want = "See it (" + order + ") <now>"
	for _, code := range []string{"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"} {
		for _, buttons := range [][][]botmesh.Button{nil, row("Yes")} {
			sl, s, _ := recorded(t)
			send.Buttons = buttons
			sl.Next(dm, slacktest.Error(code))
			sent, err := s.Call(t.Context(), to(dm, send))
			if got := sl.Chat(dm); err != nil || len(got) != 1 || got[0].Text != want || len(got[0].Buttons) != len(buttons) {
				t.Fatalf("%s: got %+v and %v, want %q once", code, got, err, want)
			}
			sl.Next(dm, slacktest.Error(code))
			if err := s.Edit(t.Context(), to(dm, send), sent.MessageID); err != nil || sl.Calls() != 4 {
				t.Errorf("%s: got %v after %d calls, want an edit after four", code, err, sl.Calls())
			}
			if got := sl.Chat(dm); len(got) != 1 || got[0].Text != want {
				t.Errorf("%s: got %+v after an edit, want %q", code, got, want)
			}
		}
	}
	sl, s, _ := recorded(t)
	sl.Next(dm, slacktest.Error("channel_not_found"), slacktest.Error("invalid_blocks"), slacktest.Error("invalid_blocks"), slacktest.Error("invalid_blocks"))
	for n, c := range []struct {
		send  botmesh.Send
		calls int64
	}{{send, 1}, {botmesh.Send{Text: "hi", Buttons: row("Yes")}, 2}, {send, 4}} {
		if _, err := s.Call(t.Context(), to(dm, c.send)); !provider.IsPermanent(err) || sl.Calls() != c.calls {
			t.Errorf("call %d: got %v after %d calls, want a permanent error after %d", n, err, sl.Calls(), c.calls)
		}
	}
}

// The addresses of links are left out where the plain text would be too long with them.
func TestUnstyledFits(t *testing.T) {
	t.Parallel()
	send := marked(strings.Repeat("a", 2990)+" it", "it", "link")
	send.Buttons = row("Yes")
	got := unstyled(send)
	if diff := cmp.Diff(botmesh.Send{Text: send.Text, Buttons: send.Buttons}, got); diff != "" {
		t.Errorf("unstyled (-want +got):\n%s", diff)
	}
}

// However many styles a text has, Slack takes each part with them, and all is there.
//
// SPEC: O8
func TestSplitLeavesRoomForStyles(t *testing.T) {
	t.Parallel()
	sl, s := fake(t)
	wide := row(strings.Split("abcdefghijklmnopqrstuvwxyz", "")...)
	for name, c := range map[string]struct {
		send  botmesh.Send
		parts int
	}{
		"few":           {striped(strings.Repeat("word ", 100), 25), 1},
		"long":          {striped(strings.Repeat("word ", 700), 250), 2},
		"many":          {striped(strings.Repeat("a ", 1000), 2), 7},
		"many buttons":  {with(striped(strings.Repeat("a ", 300), 2), row("Yes"), nil), 3},
		"many numbered": {with(striped(strings.Repeat("a ", 300), 2), wide, nil), 3},
		"many below":    {with(striped(strings.Repeat("a ", 300), 2), nil, image("https://example.org/a.png")), 4},
		"few below":     {with(striped("a b c d", 2), nil, image("https://example.org/a.png")), 1},
	} {
		if got := delivered(t, sl, s, c.send); got != c.parts {
			t.Errorf("%s: got %d parts, want %d", name, got, c.parts)
		}
	}
}

// SPEC: O8
func TestSplitLeavesRoomForAnyStyles(t *testing.T) {
	t.Parallel()
	sl, s := fake(t)
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SampledFrom([]string{"word ", "&<", "é日\n", "👩‍👧", "https://example.org/a?b&c "})
		send := striped(strings.Join(rapid.SliceOfN(words, 1, 200).Draw(t, "text"), ""), rapid.IntRange(1, 40).Draw(t, "every"))
		style := rapid.SampledFrom([]botmesh.Style{"bold", "code", "pre", "link"}).Draw(t, "style")
		for i := range send.Spans {
			if send.Spans[i].Style = style; style == botmesh.StyleLink {
				send.Spans[i].URL = order
			}
		}
		delivered(t, sl, s, send)
	})
}

func with(send botmesh.Send, buttons [][]botmesh.Button, m *botmesh.Media) botmesh.Send {
	send.Buttons, send.Media = buttons, m
	return send
}

// striped is a text of which every second stretch of so many characters is bold.
func striped(text string, every int) botmesh.Send {
	send := botmesh.Send{Text: text}
	n, from := 0, 0
	for i := range text + " " {
		if n%every == 0 && i > 0 {
			if n/every%2 == 1 && len(send.Spans) < botmesh.MaxSpans {
				send.Spans = append(send.Spans, botmesh.Span{From: from, To: i, Style: botmesh.StyleBold})
			}
			from = i
		}
		n++
	}
	return send
}

// delivered cuts and calls a send, of which Slack refuses nothing, and returns how many
// parts it has.
func delivered(t rapid.TB, sl *slacktest.Server, s *Sender, send botmesh.Send) int {
	t.Helper()
	before, had := sl.Calls(), len(sl.Chat(dm))
	parts, err := provider.Split(s, send)
	for _, p := range parts {
		if err == nil {
			_, err = s.Call(context.Background(), to(dm, p))
		}
	}
	if calls := sl.Calls() - before; err != nil || calls != int64(len(parts)) {
		t.Fatalf("got %v and %d calls for %d parts, want none refused", err, calls, len(parts))
	}
	var text strings.Builder
	for _, m := range sl.Chat(dm)[had:] {
		text.WriteString(m.Text)
	}
	got, want := strings.Join(strings.Fields(text.String()), ""), strings.Join(strings.Fields(send.Text), "")
	if !strings.HasPrefix(got, want) || got != want && send.Buttons == nil {
		t.Fatalf("got %q, want %q", got, want)
	}
	return len(parts)
}
