package slack

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/fakeplatform"
)

func image(address string) *botmesh.Media {
	return &botmesh.Media{Kind: botmesh.MediaImage, URL: address}
}

func TestCallSendsImages(t *testing.T) {
	t.Parallel()
	sl, s := fake(t)
	const at = "https://example.org/menu.png"
	for n, send := range []botmesh.Send{{}, {Text: "Menu <&>"}, {Buttons: row("Yes")}, {Text: "Menu", Buttons: row("Yes")}, {Text: strings.Repeat("&", 760)}} {
		send.Media = image(at)
		if n == 1 {
			send.Media.Name = "menu.png"
		}
		if parts := s.Split(send); len(parts) != 1 || !s.Attaches(*send.Media) {
			t.Fatalf("%+v: got parts %+v, want it whole", send, parts)
		}
		sent, err := s.Call(t.Context(), to(dm, send))
		if err != nil {
			t.Fatalf("%+v: got %v, want no error", send, err)
		}
		got := sl.Chat(dm)
		alt := "image"
		if n == 1 {
			alt = "menu.png"
		}
		media := fakeplatform.Media{Kind: "image", URL: at, Name: alt}
		if len(got) != n+1 || got[n].ID != sent.MessageID || got[n].Media != media || got[n].Text != send.Text || len(got[n].Buttons) != len(send.Buttons) {
			t.Errorf("%+v: got %+v, want it", send, got[n])
		}
	}
	if _, err := s.Call(t.Context(), to(dm, botmesh.Send{Media: image("https://files.invalid/s3cret.png")})); !provider.IsPermanent(err) {
		t.Errorf("an image that can not be fetched: got %v, want a permanent error", err)
	}
	if _, err := s.Call(t.Context(), to(dm, botmesh.Send{Media: image(at), Buttons: row("")})); !provider.IsPermanent(err) {
		t.Errorf("buttons that do not fit: got %v, want a permanent error", err)
	}
}

// What a notification says of an image without a text is there too.
func TestImagesHaveATextForNotifications(t *testing.T) {
	t.Parallel()
	var got outgoing
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		io.WriteString(w, `{"ok":true,"ts":"1.2"}`)
	}))
	t.Cleanup(srv.Close)
	m := image("https://example.org/menu.png")
	m.Name = "a<b.png"
	if _, err := newSender(t, srv.URL).Call(t.Context(), to(dm, botmesh.Send{Media: m})); err != nil || got.Text != "a&lt;b.png" || got.Blocks[0].Alt != m.Name {
		t.Errorf("got %+v, error %v, want its name, escaped in the text", got, err)
	}
}

func TestSplitImage(t *testing.T) {
	t.Parallel()
	s := newSender(t, "http://127.0.0.1:1")
	m := image("https://example.org/menu.png")
	long := strings.Repeat("x", 4000)
	rows := func(n int) (all [][]botmesh.Button) {
		for range n {
			all = append(all, row("Yes")...)
		}
		return all
	}
	for name, c := range map[string]struct {
		send botmesh.Send
		want []botmesh.Send
	}{
		"a long text":      {botmesh.Send{Text: long, Media: m}, []botmesh.Send{{Text: long, Media: m}}},
		"a longer text":    {botmesh.Send{Text: long + " y", Media: m}, []botmesh.Send{{Media: m}, {Text: long}, {Text: "y"}}},
		"as many rows":     {botmesh.Send{Text: "x", Media: m, Buttons: rows(48)}, []botmesh.Send{{Text: "x", Media: m, Buttons: rows(48)}}},
		"a row too many":   {botmesh.Send{Text: "x", Media: m, Buttons: rows(49)}, []botmesh.Send{{Media: m}, {Text: "x", Buttons: rows(49)}}},
		"as lines instead": {botmesh.Send{Text: "x", Media: m, Buttons: rows(50)}, append([]botmesh.Send{{Media: m}}, s.Split(botmesh.Send{Text: "x", Buttons: rows(50)})...)},
	} {
		if diff := cmp.Diff(c.want, s.Split(c.send)); diff != "" {
			t.Errorf("%s: parts (-want +got):\n%s", name, diff)
		}
	}
	for _, other := range []botmesh.Media{{Kind: botmesh.MediaVideo, URL: m.URL}, {Kind: botmesh.MediaImage, Ref: "F1"}} {
		if s.Attaches(other) {
			t.Errorf("%+v: got that it is taken, want a link", other)
		}
	}
}
