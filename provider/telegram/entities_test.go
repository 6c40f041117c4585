package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

const order = "https://example.org/7?a=1&b=2"

// marked is a send of which the first stretches of text that say so have styles; a style
// that is an address is a link.
func marked(text string, styles ...string) botmesh.Send {
	s := botmesh.Send{Text: text}
	for i := 0; i < len(styles); i += 2 {
		at := strings.Index(text, styles[i])
		span := botmesh.Span{From: at, To: at + len(styles[i]), Style: botmesh.Style(styles[i+1])}
		if strings.Contains(styles[i+1], ":") {
			span.Style, span.URL = botmesh.StyleLink, styles[i+1]
		}
		s.Spans = append(s.Spans, span)
	}
	return s
}

func TestEntities(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		send botmesh.Send
		want []entity
	}{
		"none":       {marked("a"), nil},
		"units":      {marked("é😀👩‍👧 b", "b", "bold"), []entity{{Type: "bold", Offset: 9, Length: 1}}},
		"all styles": {marked("a b c d", "a", "italic", "b", "strike", "c", "code", "d", "pre"), []entity{{Type: "italic", Length: 1}, {Type: "strikethrough", Offset: 2, Length: 1}, {Type: "code", Offset: 4, Length: 1}, {Type: "pre", Offset: 6, Length: 1}}},
		"space":      {marked("a \n😀 \n b", " \n😀 \n ", "bold"), []entity{{Type: "bold", Offset: 3, Length: 2}}},
		"only space": {marked("a \n b", " \n ", "bold"), nil},
		"within":     {marked("a b c", "a b c", "bold", "b", order), []entity{{Type: "bold", Length: 1}, {Type: "text_link", Offset: 2, Length: 1, URL: order}, {Type: "bold", Offset: 2, Length: 1}, {Type: "bold", Offset: 4, Length: 1}}},
		"overlap":    {marked("abc", "ab", "bold", "bc", "italic"), []entity{{Type: "bold", Length: 2}, {Type: "italic", Offset: 1, Length: 1}, {Type: "italic", Offset: 2, Length: 1}}},
		"in code":    {marked("abc", "abc", "code", "b", "bold"), []entity{{Type: "code", Length: 3}}},
		"code links": {marked("abc", "abc", "code", "b", order), []entity{{Type: "code", Length: 1}, {Type: "text_link", Offset: 1, Length: 1, URL: order}, {Type: "code", Offset: 2, Length: 1}}},
		"two links":  {marked("ab", "a", order, "b", "https://example.org/8"), []entity{{Type: "text_link", Length: 1, URL: order}, {Type: "text_link", Offset: 1, Length: 1, URL: "https://example.org/8"}}},
	} {
		if diff := cmp.Diff(c.want, entities(c.send)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Telegram makes links of addresses that it finds by itself, and takes few others.
func TestLinksThatTelegramDoesNotTake(t *testing.T) {
	t.Parallel()
	s := newSender(t, "http://127.0.0.1:1")
	for address, want := range map[string]bool{
		order: true, "http://[::1]:8080/": true, "HTTPS://example.org": true,
		"http://localhost:8080/": false, "https://intranet": false, "mailto:a@example.org": false, "tel:112": false,
	} {
		parts, err := provider.Split(s, marked("See it", "it", address))
		if err != nil || len(parts) != 1 {
			t.Fatalf("%s: got %d parts and %v, want one", address, len(parts), err)
		}
		text := "See it"
		if !want {
			text += " (" + address + ")"
		}
		if got := len(parts[0].Spans) == 1; got != want || parts[0].Text != text {
			t.Errorf("%s: got link %v and the text %q, want %v and %q", address, got, parts[0].Text, want, text)
		}
	}
}

// recording is the last call of a recorded fake.
type recording struct {
	Text, Caption string
	Entities      []entity
	Below         []entity `json:"caption_entities"`
}

func recorded(t testing.TB) (*telegramtest.Server, *Sender, *recording) {
	t.Helper()
	tg := telegramtest.New(testToken)
	last := &recording{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		*last = recording{}
		if err := json.Unmarshal(body, last); err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err == nil {
			tg.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	return tg, newSender(t, srv.URL), last
}

// SPEC: O8
func TestCallShowsStyles(t *testing.T) {
	t.Parallel()
	tg, s, last := recorded(t)
	send := marked("😀 See <it> now", "<it>", order, "now", "bold")
	want := []entity{{Type: "text_link", Offset: 7, Length: 4, URL: order}, {Type: "bold", Offset: 12, Length: 3}}
	sent, err := s.Call(t.Context(), provider.Call{Chat: key("55"), Send: send})
	if diff := cmp.Diff(&recording{Text: send.Text, Entities: want}, last); err != nil || diff != "" {
		t.Errorf("got error %v, call (-want +got):\n%s", err, diff)
	}
	*last = recording{}
	send.Text = strings.Replace(send.Text, "now", "NOW", 1)
	err = s.Edit(t.Context(), provider.Call{Chat: key("55"), Send: send}, sent.MessageID)
	if diff := cmp.Diff(&recording{Text: send.Text, Entities: want}, last); err != nil || diff != "" {
		t.Errorf("got error %v, edit (-want +got):\n%s", err, diff)
	}
	send.Media = &botmesh.Media{Kind: botmesh.MediaImage, URL: menu}
	tg.Next("55", telegramtest.Migrated(http.StatusBadRequest, -1009))
	_, err = s.Call(t.Context(), provider.Call{Chat: key("55"), Send: send})
	if diff := cmp.Diff(&recording{Caption: send.Text, Below: want}, last); err != nil || diff != "" {
		t.Errorf("got error %v, call with a file, in the new chat (-want +got):\n%s", err, diff)
	}
	if got := tg.Texts("-1009"); len(got) != 1 {
		t.Errorf("got %q in the new chat, want the caption", got)
	}
}

// Telegram took nothing of what it refused, so the plain text comes once.
//
// SPEC: O5
func TestStylesThatTelegramRefuses(t *testing.T) {
	t.Parallel()
	const want = "See it (" + order + ") <now>"
	for _, media := range []*botmesh.Media{nil, {Kind: botmesh.MediaImage, URL: menu}} {
		for _, why := range []string{"can't parse entities: whatever", "entity URL 'https://example.org/' is invalid: Wrong HTTP URL", "ENTITY_BOUNDS_INVALID"} {
			tg, s, last := recorded(t)
			send := marked("See it <now>", "it", order, "<now>", "bold")
			send.Media = media
			bad := telegramtest.Refusal(http.StatusBadRequest, why)
			tg.Next("-55", bad, telegramtest.Migrated(http.StatusBadRequest, -1009))
			tg.Next("-1009", bad)
			sent, err := s.Call(t.Context(), provider.Call{Chat: key("-55"), Send: send})
			if got := tg.Chat("-1009"); err != nil || len(got) != 1 || got[0].Text != want || len(last.Entities)+len(last.Below) > 0 || len(tg.All()) != 1 {
				t.Fatalf("%s: got %+v and %v, want %q once, without entities", why, got, err, want)
			}
			if media != nil {
				continue
			}
			tg.Next("-1009", bad)
			err = s.Edit(t.Context(), provider.Call{Chat: key("-1009"), Send: marked("it 2", "it", order)}, sent.MessageID)
			if got := tg.Texts("-1009"); err != nil || len(got) != 1 || got[0] != "it ("+order+") 2" {
				t.Errorf("%s: got %q and %v after an edit, want the plain text", why, got, err)
			}
		}
	}
}

// Whatever is not about the styles is not called again, nor what is without.
//
// SPEC: O5
func TestRefusalsThatAreNotOfStyles(t *testing.T) {
	t.Parallel()
	send := marked("See it", "it", "bold")
	bad := telegramtest.Refusal(http.StatusBadRequest, "can't parse entities: whatever")
	for name, c := range map[string]struct {
		send  botmesh.Send
		fault []int
		why   string
		calls int64
	}{
		"other":    {send, []int{400}, "chat not found", 1},
		"in doubt": {send, []int{502}, "can't parse entities: whatever", 1},
		"none":     {botmesh.Send{Text: "See it"}, []int{400}, "can't parse entities: whatever", 1},
		"again":    {send, []int{400, 400, 400}, "can't parse entities: whatever", 2},
	} {
		tg, s := fake(t)
		for _, status := range c.fault {
			f := telegramtest.Refusal(status, c.why)
			tg.Next("55", f)
		}
		_, err := s.Call(t.Context(), provider.Call{Chat: key("55"), Send: c.send})
		if err == nil || tg.Calls() != c.calls || len(tg.All()) > 0 {
			t.Errorf("%s: got %v after %d calls, want an error after %d", name, err, tg.Calls(), c.calls)
		}
	}
	tg, s := fake(t)
	tg.Next("55", bad, telegramtest.Refusal(http.StatusBadGateway, ""))
	if _, err := s.Call(t.Context(), provider.Call{Chat: key("55"), Send: send}); !provider.InDoubt(err) {
		t.Errorf("got %v for the plain text, want its own doubt", err)
	}
}

// The addresses of links are left out where the plain text would be too long with them.
func TestUnstyledFits(t *testing.T) {
	t.Parallel()
	image := &botmesh.Media{Kind: botmesh.MediaImage, URL: menu}
	for _, c := range []struct {
		length int
		media  *botmesh.Media
		whole  bool
	}{{4000, nil, true}, {4090, nil, false}, {990, image, true}, {1000, image, false}} {
		send := marked(strings.Repeat("a", c.length)+" it", "it", "https://example.org/")
		send.Media = c.media
		got := unstyled(send)
		if whole := strings.HasSuffix(got.Text, " (https://example.org/)"); whole != c.whole || len(got.Spans) > 0 || got.Media != c.media {
			t.Errorf("%d: got %d bytes with the address %v, want %v", c.length, len(got.Text), whole, c.whole)
		}
	}
}

// Telegram leaves out what is over its number, so there are more messages.
//
// SPEC: O8
func TestSplitByEntities(t *testing.T) {
	t.Parallel()
	s := newSender(t, "http://127.0.0.1:1")
	image := &botmesh.Media{Kind: botmesh.MediaImage, URL: menu}
	for _, c := range []struct {
		bold  int
		media *botmesh.Media
		parts int
	}{{100, nil, 1}, {101, nil, 2}, {250, nil, 3}, {100, image, 1}, {101, image, 3}} {
		send := botmesh.Send{Text: strings.Repeat("ab ", c.bold), Media: c.media}
		for i := range c.bold {
			send.Spans = append(send.Spans, botmesh.Span{From: 3 * i, To: 3*i + 1, Style: botmesh.StyleBold})
		}
		parts, err := provider.Split(s, send)
		if err != nil || len(parts) != c.parts {
			t.Errorf("%d: got %d parts and %v, want %d", c.bold, len(parts), err, c.parts)
		}
		for _, p := range parts {
			if n := len(entities(p)); n > maxEntities {
				t.Errorf("%d: got a part of %d entities, want at most %d", c.bold, n, maxEntities)
			}
		}
	}
}

// Whatever text and spans: each part has entities that Telegram takes, all of which it
// shows, and every character has its styles.
//
// SPEC: O8
func TestEntitiesOfAnyText(t *testing.T) {
	t.Parallel()
	_, s, last := recorded(t)
	rapid.Check(t, func(t *rapid.T) {
		send := drawn(t)
		parts, err := provider.Split(s, send)
		if err != nil {
			t.Fatal(err)
		}
		var got []provider.Run
		for _, p := range parts {
			if _, err := s.Call(context.Background(), provider.Call{Chat: key("55"), Send: p}); err != nil {
				t.Fatal(err)
			}
			all := append(last.Entities, last.Below...)
			if len(all) > maxEntities {
				t.Fatalf("got %d entities, want at most %d", len(all), maxEntities)
			}
			for i, e := range all {
				for _, o := range all[:i] {
					apart := o.Offset+o.Length <= e.Offset
					if within := e.Offset >= o.Offset && e.Offset+e.Length <= o.Offset+o.Length; !apart && (!within || o.Type == "pre" || o.Type == "code") {
						t.Fatalf("got %+v and %+v, want one within the other or apart, and none in code", o, e)
					}
				}
			}
			got = append(got, shown(last.Text+last.Caption, all)...)
		}
		want := letters(provider.Runs(send))
		for i := range want {
			want[i].Code = want[i].Code && want[i].URL == ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("styles of characters (-want +got):\n%s", diff)
		}
	})
}

// drawn is a text of many spans or few, with or without a file.
func drawn(t *rapid.T) botmesh.Send {
	words := rapid.SampledFrom([]string{"word ", "😀", "é日\n", "👩‍👧 ", "a"})
	text := strings.Join(rapid.SliceOfN(words, 1, 400).Draw(t, "text"), "")
	send := botmesh.Send{Text: strings.TrimSpace(text) + "."}
	if rapid.Bool().Draw(t, "file") {
		send.Media = &botmesh.Media{Kind: botmesh.MediaImage, URL: menu}
	}
	var borders []int
	for i := range send.Text {
		borders = append(borders, i)
	}
	styles := rapid.SampledFrom([]botmesh.Style{"bold", "italic", "strike", "code", "pre", "link"})
	for range rapid.IntRange(0, 300).Draw(t, "spans") {
		from := rapid.IntRange(0, len(borders)-1).Draw(t, "from")
		to := min(from+rapid.IntRange(1, 5).Draw(t, "characters"), len(borders)-1)
		span := botmesh.Span{From: borders[from], To: borders[to], Style: styles.Draw(t, "style")}
		if span.Style == botmesh.StyleLink {
			span.URL = order
		}
		if from < to {
			send.Spans = append(send.Spans, span)
		}
	}
	return send
}

// shown are the characters of a text with what its entities make of them.
func shown(text string, all []entity) []provider.Run {
	var runs []provider.Run
	at := 0
	for _, c := range text {
		r := provider.Run{Text: string(c)}
		for _, e := range all {
			if at < e.Offset || at >= e.Offset+e.Length {
				continue
			}
			switch e.Type {
			case "bold":
				r.Bold = true
			case "italic":
				r.Italic = true
			case "strikethrough":
				r.Strike = true
			case "code":
				r.Code = true
			case "pre":
				r.Pre = true
			case "text_link":
				r.URL = e.URL
			}
		}
		runs = append(runs, r)
		at += utf16.RuneLen(c)
	}
	return letters(runs)
}

// letters are what is seen, each with its styles.
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
