package whatsapp

import (
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/whatsapp/whatsapptest"
)

// That an answer is typed is shown at the user's message, and nowhere without one.
func TestTypingIsShownAtAMessage(t *testing.T) {
	t.Parallel()
	wa, s := fake(t)
	lasts, err := s.Typing(t.Context(), key(nora), "wamid.1")
	if lasts != typing || err != nil {
		t.Errorf("got %v, %v, want %v and no error", lasts, err, typing)
	}
	for name, of := range map[string]struct{ chat, message string }{"no message": {nora, ""}, "no chat": {"-", "wamid.1"}, "not a message's": {nora, "7"}} {
		if _, err := s.Typing(t.Context(), key(of.chat), of.message); !provider.IsPermanent(err) {
			t.Errorf("%s: got %v, want a permanent refusal", name, err)
		}
	}
	if diff := cmp.Diff([]string{"wamid.1"}, wa.Typing()); diff != "" {
		t.Errorf("messages to which an answer is typed (-want +got):\n%s", diff)
	}
	if wa.Calls() != 0 || len(wa.All()) != 0 {
		t.Errorf("got %d messages in %d calls, want none", len(wa.All()), wa.Calls())
	}
}

// What is written to another number of the app is answered from that one.
func TestTypingIsOfTheNumberThatWasWrittenTo(t *testing.T) {
	t.Parallel()
	wa := whatsapptest.New(testToken, "998")
	srv := httptest.NewServer(wa)
	t.Cleanup(srv.Close)
	s := newSender(t, srv.URL+"/"+whatsapptest.Version)
	if _, err := s.Typing(t.Context(), key("998@"+nora), "wamid.2"); err != nil || len(wa.Typing()) != 1 {
		t.Errorf("got %v at %q, want it shown by the other number", err, wa.Typing())
	}
}
