package telegram

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/providertest"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

// SPEC: X2 X3
func TestOpen(t *testing.T) {
	t.Parallel()
	tg := telegramtest.New(testToken)
	tg.AddFile("AgTea_1", []byte("a photo"))
	providertest.Opener(t, providertest.Files{
		Sender:  func(t testing.TB, api string) provider.Sender { return newSender(t, api) },
		API:     tg,
		Media:   func(string) botmesh.Media { return botmesh.Media{Kind: "image", Ref: "AgTea_1"} },
		Gone:    func(string) botmesh.Media { return botmesh.Media{Kind: "image", Ref: "AgTea_2"} },
		Content: []byte("a photo"),
		Secret:  "AA_secret",
	})
}

func TestOpenSaysWhyNot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		want   error
	}{
		"TooLarge":    {400, `{"ok":false,"error_code":400,"description":"Bad Request: file is too big"}`, botmesh.ErrFileTooLarge},
		"WrongID":     {400, `{"ok":false,"error_code":400,"description":"Bad Request: invalid file_id"}`, botmesh.ErrFileGone},
		"NoPath":      {200, `{"ok":true,"result":{"file_id":"f"}}`, botmesh.ErrFileGone},
		"LocalServer": {200, `{"ok":true,"result":{"file_path":"/var/lib/bot/photos/1.jpg"}}`, botmesh.ErrFileUnsupported},
		"NotNow":      {400, `{"ok":false,"error_code":400,"description":"Bad Request: wrong file_id or the file is temporarily unavailable"}`, nil},
		"WrongToken":  {401, `{"ok":false,"error_code":401,"description":"Unauthorized"}`, nil},
		"OfAProxy":    {400, `no`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				w.Write([]byte(c.body))
			}))
			t.Cleanup(srv.Close)
			_, err := newSender(t, srv.URL).Open(t.Context(), botmesh.ChatKey{}, botmesh.Media{Ref: "f"})
			for _, sort := range []error{botmesh.ErrFileTooLarge, botmesh.ErrFileGone, botmesh.ErrFileUnsupported} {
				if err == nil || errors.Is(err, sort) != (sort == c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			}
		})
	}
}
