package slack

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/providertest"
	"github.com/botmesh-go/botmesh/provider/slack/slacktest"
)

// SPEC: X2 X3
func TestOpen(t *testing.T) {
	t.Parallel()
	sl := slacktest.New(testToken)
	sl.AddFile("F0FILE001", []byte("a photo"))
	providertest.Opener(t, providertest.Files{
		Sender:  func(t testing.TB, api string) provider.Sender { return newSender(t, api) },
		API:     sl,
		Media:   func(string) botmesh.Media { return botmesh.Media{Kind: "image", Ref: "F0FILE001"} },
		Gone:    func(string) botmesh.Media { return botmesh.Media{Kind: "image", Ref: "F0FILE002"} },
		Content: []byte("a photo"),
		Secret:  testToken,
	})
}

func TestOpenSaysWhyNot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want error
	}{
		"Deleted":   {`{"ok":false,"error":"file_deleted"}`, botmesh.ErrFileGone},
		"Old":       {`{"ok":true,"file":{"mode":"hidden_by_limit"}}`, botmesh.ErrFileGone},
		"Elsewhere": {`{"ok":true,"file":{"mode":"external","is_external":true,"url_private":"https://drive.example/x"}}`, botmesh.ErrFileUnsupported},
		"OtherHost": {`{"ok":true,"file":{"mode":"hosted","url_private":"https://files.slack.com.example/x"}}`, botmesh.ErrFileUnsupported},
		"NoScope":   {`{"ok":false,"error":"missing_scope"}`, nil},
		"NotSlack":  {`no`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(c.body)) }))
			t.Cleanup(srv.Close)
			_, err := newSender(t, srv.URL).Open(t.Context(), botmesh.ChatKey{}, botmesh.Media{Ref: "F1"})
			for _, sort := range []error{botmesh.ErrFileTooLarge, botmesh.ErrFileGone, botmesh.ErrFileUnsupported} {
				if err == nil || errors.Is(err, sort) != (sort == c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			}
		})
	}
}
