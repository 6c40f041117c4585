package whatsapp

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/providertest"
	"github.com/botmesh-go/botmesh/provider/whatsapp/whatsapptest"
)

// SPEC: X2 X3
func TestOpen(t *testing.T) {
	t.Parallel()
	wa := whatsapptest.New(testToken, "7001")
	wa.AddFile("2201", []byte("a photo"))
	providertest.Opener(t, providertest.Files{
		Sender:  func(t testing.TB, api string) provider.Sender { return newSender(t, api+"/"+whatsapptest.Version) },
		API:     wa,
		Media:   func(string) botmesh.Media { return botmesh.Media{Kind: "image", Ref: "2201", Name: "photo.jpg"} },
		Gone:    func(string) botmesh.Media { return botmesh.Media{Kind: "image", Ref: "2202"} },
		Content: []byte("a photo"),
		Secret:  testToken,
	})
}

// An address is good for minutes, the reference for weeks.
func TestOpenAfterTheAddressExpired(t *testing.T) {
	t.Parallel()
	wa := whatsapptest.New(testToken, "7001")
	wa.AddFile("2201", []byte("a photo"))
	srv := httptest.NewServer(wa)
	t.Cleanup(srv.Close)
	s := newSender(t, srv.URL+"/"+whatsapptest.Version)
	for range 2 {
		f, err := s.Open(t.Context(), botmesh.ChatKey{}, botmesh.Media{Ref: "2201"})
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		wa.ExpireFiles()
	}
}

// The token goes to the platform's hosts alone, whatever the answer says.
//
// SPEC: X3
func TestOpenTellsNoOtherHostTheToken(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("got a call at another host, want none")
	}))
	t.Cleanup(other.Close)
	for _, address := range []string{
		other.URL, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), "https://fbsbx.com.example/x", "https://a:b@lookaside.fbsbx.com/x", "http://lookaside.fbsbx.com/x", "",
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"url":%q}`, address) }))
		t.Cleanup(srv.Close)
		_, err := newSender(t, srv.URL).Open(t.Context(), botmesh.ChatKey{}, botmesh.Media{Ref: "2201"})
		if err == nil || address != "" && !errors.Is(err, botmesh.ErrFileUnsupported) {
			t.Errorf("%q: got %v, want it refused", address, err)
		}
	}
}
