package workerd_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/provider/fakeplatform"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

// A file that a backend orders goes the whole way; one that the platform does not take is
// shown to an operator, who puts it back with all that it has.
//
// SPEC: J2 J8 O5.
func TestAFileIsSentAndPutBack(t *testing.T) {
	t.Parallel()
	f := startFleet(t, "BOTMESH_ADMIN_TOKEN="+adminToken)
	f.telegram.Next("7", fakeplatform.Fault{}, telegramtest.Refusal(http.StatusBadRequest, "failed to get HTTP URL content"))
	const at = "https://example.org/menu.png"
	for range 2 {
		order := `{"text":"Menu","media":{"kind":"image","url":"` + at + `"},"buttons":[[{"label":"Yes","payload":"y"}]]}`
		if status, text := f.ask(t, http.MethodPost, "/v1/chats/telegram%2F7/send", order, nil); status != http.StatusAccepted {
			t.Fatalf("got %d %s, want 202", status, text)
		}
	}
	var dead []admin.Dead
	natstest.Until(t, "the second is set aside", func() bool {
		dead = nil
		f.ask(t, http.MethodGet, "/v1/dead", "", &dead)
		return len(dead) == 1
	})
	letter := fmt.Sprintf("/v1/dead/%d", dead[0].Seq)
	var shown admin.Dead
	if f.ask(t, http.MethodGet, letter, "", &shown); shown.Text != "(image "+at+") Menu" {
		t.Errorf("got the text %q, want the file with it", shown.Text)
	}
	if status, text := f.ask(t, http.MethodPost, letter+"/requeue", "", nil); status != http.StatusOK {
		t.Fatalf("got %d %s, want 200", status, text)
	}
	f.expect(t, "7", "Menu", "Menu")
	for _, m := range f.telegram.Chat("7") {
		if m.Media != (fakeplatform.Media{Kind: "photo", URL: at}) || len(m.Buttons) != 1 {
			t.Errorf("got %+v, want the image with its button", m)
		}
	}
}
