package outbox

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/provider"
)

// attacher is an editor whose platform takes images by address.
type attacher struct{ editor }

func (attacher) Attaches(m botmesh.Media) bool { return m.Kind == botmesh.MediaImage && m.URL != "" }
func (attacher) Split(s botmesh.Send) []botmesh.Send {
	return []botmesh.Send{{Text: s.Text, Media: s.Media}, {Text: "end"}}
}

func attaching(c *Config) { c.Senders = []provider.Sender{attacher{editor{c.Senders[0].(*process)}}} }

func image(text string) botmesh.Send {
	return botmesh.Send{Text: text, Media: &botmesh.Media{Kind: botmesh.MediaImage, URL: "https://example.org/s3cret.png"}}
}

// Only what holds a file or a link is kept from builds that know none: the rest is what it
// was, byte by byte, a bold text but for the span that says so.
func TestOnlyAFileOrALinkRaisesALettersVersion(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	const head = `"id":"l","chat":{"provider":"p","chat":"c"},"at":"2026-12-01T09:00:00Z","parts":[{"id":"l/0.0","send":{"text":"hi",`
	for want, s := range map[string]botmesh.Send{
		`{"v":1,` + head + `"spans":[{"from":0,"to":2,"style":"bold"}]}}]}`: {Text: "hi", Spans: []botmesh.Span{{To: 2, Style: botmesh.StyleBold}}},
		`{"v":3,` + head + `"spans":[{"from":0,"to":2,"style":"link","url":"https://example.org/"}]}}]}`: {
			Text: "hi", Spans: []botmesh.Span{{To: 2, Style: botmesh.StyleLink, URL: "https://example.org/"}}},
		`{"v":1,"id":"l","chat":{"provider":"p","chat":"c"},"at":"2026-12-01T09:00:00Z","parts":[{"id":"l/0.0","send":{"text":"hi"}}]}`: {Text: "hi"},
		`{"v":2,"id":"l","chat":{"provider":"p","chat":"c"},"at":"2026-12-01T09:00:00Z","parts":[{"id":"l/0.0","send":` +
			`{"text":"hi","media":{"kind":"image","url":"https://example.org/s3cret.png"}}}]}`: image("hi"),
	} {
		l := botmesh.Letter{ID: "l", Chat: botmesh.ChatKey{Provider: "p", Chat: "c"}, At: at, Parts: []botmesh.Part{{ID: "l/0.0", Send: s}}}
		m, err := encodeLetter("s", l)
		if err != nil || string(m.Data) != want {
			t.Errorf("got %s, error %v, want %s", m.Data, err, want)
		}
		if again, err := decodeLetter(jet.Stored{Msg: m}); err != nil || again.Parts[0].Send.Text != "hi" {
			t.Errorf("read again: got %+v, error %v, want it as it was", again, err)
		}
		// A build that knows no files reads letters up to version 1, one that knows no spans up to 2.
		for newest, refuses := range map[int]bool{format: s.Media != nil || s.HasLink(), formatMedia: s.HasLink()} {
			var old stored
			if err = decode(jet.Stored{Msg: m}, &old, &old.V, newest); errors.Is(err, ErrNewerFormat) != refuses {
				t.Errorf("a build that reads up to %d: got error %v of %s, want ErrNewerFormat %v", newest, err, m.Data, refuses)
			}
		}
	}
}

func TestALetterHoldsTheFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plain, able := w.process("plain"), w.process("able", attaching)
	id := botmesh.LetterID(chatA, "j1", 7)
	for name, c := range map[string]struct {
		by   *process
		id   string
		send botmesh.Send
		want string // of each part its file's kind and its text
	}{
		"taken":                {able, id, image("x"), "image x|end"},
		"not taken":            {plain, id, image("x"), "x\nhttps://example.org/s3cret.png"},
		"grows":                {able, id + "/e0", botmesh.Send{Text: "x", Media: image("").Media, Grows: true}, "image x|end"},
		"grows, and not taken": {plain, id + "/e0", botmesh.Send{Text: "x", Media: image("").Media, Grows: true}, "x\nhttps://example.org/s3cret.png grows"},
	} {
		l, err := c.by.Letter(c.id, chatA, []botmesh.Send{c.send}, time.Now(), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, p := range l.Parts {
			text := p.Send.Text
			if p.Send.Media != nil {
				text = p.Send.Media.Kind + " " + text
			}
			if p.Send.Grows {
				text += " grows"
			}
			got = append(got, text)
		}
		want(w, name, strings.Join(got, "|"), c.want)
	}
	if l, err := able.Letter(id, chatA, []botmesh.Send{{Text: "x"}, {Media: &botmesh.Media{Kind: botmesh.MediaImage, Ref: "f"}}}, time.Now(), nil); err == nil {
		t.Errorf("a reference that the platform does not take: got %+v, want an error", l)
	}
}

// A message can not become a file: that is one of its own.
func TestAFileTakesNoMessagesPlace(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a", attaching)
		a.deliver(a.grow("…"))
		s := image("yes")
		s.Replaces = 1
		a.deliver(a.sayIn(botmesh.LetterID(chatA, "j1", 1), s))
		want(w, "calls", w.called(), []string{"a:…", "a:yes", "a:end"})
	})
}

// A refusal that quotes the file's address does not tell it: it may be a secret.
func TestAFilesAddressIsKeptOutOfReceipts(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a", attaching)
		a.answer = func(context.Context, string) error {
			return provider.Permanent(errors.New("can not fetch https://example.org/s3cret.png for picture"))
		}
		a.deliver(a.sayIn(botmesh.LetterID(chatA, "j1", 1), image("picture")))
		receipts, _, err := a.Receipts(w.Context(), chatA, 0, 10)
		if err != nil || len(receipts) == 0 {
			t.Fatalf("got %d receipts, error %v, want some", len(receipts), err)
		}
		want(w, "refusal", receipts[0].Error, "can not fetch <text> for <text>")
	})
}
