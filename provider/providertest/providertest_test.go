package providertest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
)

type receiver struct{}

func (receiver) ID() string                                          { return "p" }
func (receiver) MaxBody() int64                                      { return 1 }
func (receiver) Verify(http.Header, []byte) error                    { return nil }
func (receiver) Parse(http.Header, []byte) ([]botmesh.Record, error) { return nil, nil }

func TestCheckFindsWhatCanNotBeJournaled(t *testing.T) {
	t.Parallel()
	good := botmesh.Record{Type: botmesh.TypeMessage, ID: "1", Chat: botmesh.ChatKey{Provider: "p", Chat: "5"}}
	if err := Check(receiver{}, []botmesh.Record{good}); err != nil {
		t.Errorf("got %v, want no error", err)
	}
	for want, spoil := range map[string]func(*botmesh.Record){
		"id of 0 bytes":  func(r *botmesh.Record) { r.ID = "" },
		"201 bytes":      func(r *botmesh.Record) { r.ID = strings.Repeat("x", 201) },
		"user of 201":    func(r *botmesh.Record) { r.User = strings.Repeat("x", 201) },
		`provider "q"`:   func(r *botmesh.Record) { r.Chat.Provider = "q" },
		"has no chat":    func(r *botmesh.Record) { r.Chat.Chat = "" },
		"without a chat": func(r *botmesh.Record) { r.Chat.Chat = "-" },
		"unknown type":   func(r *botmesh.Record) { r.Type = "novelty" },
		"place":          func(r *botmesh.Record) { r.Seq = 1 },
		"UTC":            func(r *botmesh.Record) { r.SentAt = time.Now().In(time.FixedZone("x", 60)) },
		"10000":          func(r *botmesh.Record) { r.SentAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		r := good
		spoil(&r)
		if err := Check(receiver{}, []botmesh.Record{r}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	if err := Check(receiver{}, []botmesh.Record{good, good}); err == nil || !strings.Contains(err.Error(), "again") {
		t.Errorf("got %v, want the repeated id found", err)
	}
}

func TestForgeriesAreAllOtherThanTheSigned(t *testing.T) {
	t.Parallel()
	signed := http.Header{"Sig": {"abc"}}
	forged := forgeries(signed, "sig")
	if len(forged) != 6 {
		t.Errorf("got %d forgeries, want 6: without, empty, each byte, no header at all", len(forged))
	}
	for _, h := range forged {
		if h.Get("Sig") == "abc" {
			t.Errorf("got %v, want another signature", h)
		}
	}
}
