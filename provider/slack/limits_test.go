package slack

import (
	"testing"

	"github.com/botmesh-go/botmesh"
)

// All threads of a channel are one to Slack's limits.
//
// SPEC: O5
func TestThreadsShareTheLimitOfTheirChannel(t *testing.T) {
	t.Parallel()
	s, err := NewSender(SenderConfig{Token: "xoxb-x"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for _, chat := range []string{"C1", "C1/1797000000.000001"} {
		if got := s.Limits(botmesh.ChatKey{Provider: ID, Chat: chat}); got.Address != "C1" || got.Chat.IsZero() || got.Account.IsZero() {
			t.Errorf("%s: got %+v, want limits of C1", chat, got)
		}
	}
}
