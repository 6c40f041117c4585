package whatsapp

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/fakeplatform"
)

const bill = "https://example.org/bill.pdf?key=s3cret"

func TestCallSendsFiles(t *testing.T) {
	t.Parallel()
	wa, s := fake(t)
	wa.AddFile("99", []byte("x"))
	n := 0
	for kind, want := range map[string]string{
		botmesh.MediaImage: "image", botmesh.MediaVideo: "video", botmesh.MediaAudio: "audio",
		botmesh.MediaVoice: "audio", botmesh.MediaDocument: "document", botmesh.MediaSticker: "sticker",
	} {
		for _, m := range []botmesh.Media{{Kind: kind, URL: bill, Name: "bill.pdf", Type: "application/pdf"}, {Kind: kind, Ref: "99"}} {
			send := s.Split(botmesh.Send{Text: "Your bill", Media: &m})[0]
			sent, err := s.Call(t.Context(), to(nora, send))
			if err != nil {
				t.Fatalf("%+v: got %v, want no error", m, err)
			}
			media := fakeplatform.Media{Kind: want, URL: m.URL, Ref: m.Ref}
			if kind == botmesh.MediaDocument {
				media.Name = m.Name
			}
			got := wa.Chat(nora)
			if n++; len(got) != n || got[n-1].ID != sent.MessageID || got[n-1].Media != media || got[n-1].Text != send.Text || !s.Attaches(m) {
				t.Errorf("%+v: got %+v sent as %q, want it", m, got, sent.MessageID)
			}
		}
	}
}

// What the platform can not fetch, or has not, will never be sent, and blocks no chat.
func TestFilesThatThePlatformDoesNotTake(t *testing.T) {
	t.Parallel()
	_, s := fake(t)
	for want, m := range map[string]botmesh.Media{
		"131053": {Kind: botmesh.MediaImage, URL: "https://files.invalid/s3cret.png"},
		"#100":   {Kind: botmesh.MediaImage, Ref: "1"},
	} {
		if _, err := s.Call(t.Context(), to(nora, botmesh.Send{Media: &m})); !provider.IsPermanent(err) || provider.IsBlocked(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want a permanent error with %q", m, err, want)
		}
	}
}

func TestSplitFile(t *testing.T) {
	t.Parallel()
	s := newSender(t, "http://127.0.0.1:1")
	image, voice := &botmesh.Media{Kind: botmesh.MediaImage, URL: bill}, &botmesh.Media{Kind: botmesh.MediaVoice, Ref: "1"}
	fits, long := strings.Repeat("é", 1024), strings.Repeat("é", 1025)
	four := row("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11")
	for name, c := range map[string]struct{ send, first, last botmesh.Send }{
		"a caption":         {botmesh.Send{Text: fits, Media: image}, botmesh.Send{Text: fits, Media: image}, botmesh.Send{}},
		"none":              {botmesh.Send{Media: voice}, botmesh.Send{Media: voice}, botmesh.Send{}},
		"a long text":       {botmesh.Send{Text: long, Media: image}, botmesh.Send{Media: image}, botmesh.Send{Text: long}},
		"a text with audio": {botmesh.Send{Text: "x", Media: voice}, botmesh.Send{Media: voice}, botmesh.Send{Text: "x"}},
		"buttons":           {botmesh.Send{Text: "x", Media: image, Buttons: row("Yes")}, botmesh.Send{Media: image}, botmesh.Send{Text: "x", Buttons: row("Yes")}},
		"buttons alone":     {botmesh.Send{Media: image, Buttons: row("Yes")}, botmesh.Send{Text: "1. Yes", Media: image}, botmesh.Send{}},
		"too many buttons":  {botmesh.Send{Text: "x", Media: image, Buttons: four}, botmesh.Send{Text: provider.Numbered(botmesh.Send{Text: "x", Buttons: four}).Text, Media: image}, botmesh.Send{}},
	} {
		want := []botmesh.Send{c.first}
		if c.last.Text != "" {
			want = append(want, c.last)
		}
		if diff := cmp.Diff(want, s.Split(c.send)); diff != "" {
			t.Errorf("%s: parts (-want +got):\n%s", name, diff)
		}
	}
}
