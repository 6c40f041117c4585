package telegram

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/fakeplatform"
)

const menu = "https://example.org/menu.pdf"

func TestCallSendsFiles(t *testing.T) {
	t.Parallel()
	tg, s := fake(t)
	tg.AddFile("AgAC", []byte("x"))
	for kind, want := range map[string]string{
		botmesh.MediaImage: "photo", botmesh.MediaVideo: "video", botmesh.MediaAudio: "audio",
		botmesh.MediaVoice: "voice", botmesh.MediaDocument: "document", botmesh.MediaSticker: "sticker",
	} {
		for _, m := range []botmesh.Media{{Kind: kind, URL: menu}, {Kind: kind, Ref: "AgAC"}} {
			chat := "biz:" + kind + m.Ref + ":55"
			c := to(chat, "Menu")
			c.Send.Media, c.Send.Buttons = &m, [][]botmesh.Button{{{Label: "Yes", Payload: "y"}}}
			if kind == botmesh.MediaSticker {
				c.Send.Text = ""
			}
			if !s.Attaches(m) {
				t.Errorf("%+v: got that it is not taken, want it taken", m)
			}
			sent, err := s.Call(t.Context(), c)
			if err != nil {
				t.Fatalf("%+v: got %v, want no error", m, err)
			}
			got := tg.Chat(chat)
			media := fakeplatform.Media{Kind: want, URL: m.URL, Ref: m.Ref}
			if len(got) != 1 || sent.MessageID != got[0].ID || got[0].Text != c.Send.Text || got[0].Media != media || len(got[0].Buttons) != 1 {
				t.Errorf("%+v: got %+v sent as %q, want it with caption and button", m, got, sent.MessageID)
			}
		}
	}
}

// What Telegram can not fetch, or has not, will never be sent.
func TestFilesThatTelegramDoesNotTake(t *testing.T) {
	t.Parallel()
	_, s := fake(t)
	for want, m := range map[string]botmesh.Media{
		"wrong file identifier/HTTP URL": {Kind: botmesh.MediaImage, URL: "https://files.invalid/s3cret.png"},
		"wrong remote file identifier":   {Kind: botmesh.MediaImage, Ref: "of another bot"},
	} {
		c := to("55", "")
		c.Send.Media = &m
		if _, err := s.Call(t.Context(), c); !provider.IsPermanent(err) || provider.IsBlocked(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want a permanent error with %q", m, err, want)
		}
	}
}

func TestDocumentsByAddress(t *testing.T) {
	t.Parallel()
	s := newSender(t, "http://127.0.0.1:1")
	for m, want := range map[botmesh.Media]bool{
		{URL: menu}: true,
		{URL: "https://example.org/MENU.ZIP?x=.docx"}:           true,
		{URL: "https://example.org/7", Type: "image/gif"}:       true,
		{URL: "https://example.org/menu.docx"}:                  false,
		{URL: "https://example.org/7?x=.pdf"}:                   false,
		{URL: menu, Type: "text/html"}:                          false,
		{Ref: "BQAC", Name: "menu.docx", Type: "text/whatever"}: true,
	} {
		m.Kind = botmesh.MediaDocument
		if got := s.Attaches(m); got != want {
			t.Errorf("%+v: got that it is taken %v, want %v", m, got, want)
		}
	}
}

func TestSplitFile(t *testing.T) {
	t.Parallel()
	s := newSender(t, "http://127.0.0.1:1")
	image, sticker := &botmesh.Media{Kind: botmesh.MediaImage, URL: menu}, &botmesh.Media{Kind: botmesh.MediaSticker, Ref: "x"}
	buttons := [][]botmesh.Button{{{Label: "Yes", Payload: "y"}}}
	fits, long := strings.Repeat("😀", 512), strings.Repeat("😀", 512)+"!"
	for name, c := range map[string]struct{ send, first, last botmesh.Send }{
		"a caption":   {botmesh.Send{Text: fits, Media: image, Buttons: buttons}, botmesh.Send{Text: fits, Media: image, Buttons: buttons}, botmesh.Send{}},
		"none":        {botmesh.Send{Media: sticker, Buttons: buttons}, botmesh.Send{Media: sticker, Buttons: buttons}, botmesh.Send{}},
		"a long text": {botmesh.Send{Text: long, Media: image, Buttons: buttons}, botmesh.Send{Media: image}, botmesh.Send{Text: long, Buttons: buttons}},
		"a sticker":   {botmesh.Send{Text: "x", Media: sticker}, botmesh.Send{Media: sticker}, botmesh.Send{Text: "x"}},
	} {
		want := []botmesh.Send{c.first}
		if c.last.Text != "" {
			want = append(want, c.last)
		}
		if diff := cmp.Diff(want, s.Split(c.send)); diff != "" {
			t.Errorf("%s: parts (-want +got):\n%s", name, diff)
		}
	}
	if got := s.Split(botmesh.Send{Text: strings.Repeat("a ", 4000), Media: image}); len(got) != 3 || got[0].Media != image || got[2].Media != nil {
		t.Errorf("a very long text: got %d parts, want the file and two", len(got))
	}
}
