package standardwebhooks_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/providertest"
	"github.com/botmesh-go/botmesh/provider/standardwebhooks"
)

// SPEC: X2 X3
func TestOpen(t *testing.T) {
	t.Parallel()
	at := func(name string) func(string) botmesh.Media {
		return func(api string) botmesh.Media { return botmesh.Media{Kind: "image", Ref: api + name, Name: "a.png"} }
	}
	providertest.Opener(t, providertest.Files{
		Sender: func(t testing.TB, api string) provider.Sender {
			s, err := standardwebhooks.NewSender(standardwebhooks.SenderConfig{Secret: secret, API: api, PrivateFiles: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			return s
		},
		API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/a.png" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "image/png")
			w.Write([]byte("a photo"))
		}),
		Media:   at("/a.png"),
		Gone:    at("/b.png"),
		Content: []byte("a photo"),
		Secret:  "c3RhbmRhcmQtd2ViaG9va3M",
	})
}

// A reference may be of anybody's choice: it leads to no host of the bot's own network.
//
// SPEC: X2
func TestOpenLooksAtPublicAddressesAlone(t *testing.T) {
	t.Parallel()
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("got a call at a private address, want none")
	}))
	t.Cleanup(inside.Close)
	s := newSender(t, "http://127.0.0.1:1", secret)
	for _, ref := range []string{
		inside.URL, strings.Replace(inside.URL, "127.0.0.1", "localhost", 1), "https://169.254.169.254/latest/meta-data",
		"https://10.0.0.1/", "http://93.184.215.14/", "file:///etc/passwd", "f-1", "https://", "https://0.0.0.0/", "https://100.64.0.1/",
	} {
		_, err := s.Open(t.Context(), botmesh.ChatKey{}, botmesh.Media{Ref: ref})
		if !errors.Is(err, botmesh.ErrFileUnsupported) {
			t.Errorf("%s: got %v, want it refused", ref, err)
		}
	}
}
