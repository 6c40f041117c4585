package telegram

import (
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
)

// A minute of a group sees no more than 20 messages, whatever the topic, and all
// topics are one chat to Telegram.
//
// SPEC: O5
func TestLimits(t *testing.T) {
	t.Parallel()
	s, err := NewSender(SenderConfig{Token: "12:x"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for chat, want := range map[string]struct {
		address string
		window  time.Duration
		most    int
	}{
		"7":           {"7", time.Minute, 65},
		"-100":        {"-100", time.Minute, 20},
		"-100/5":      {"-100", time.Minute, 20},
		"biz:conn:42": {"42", time.Minute, 65},
		"no number":   {"", time.Minute, 65},
	} {
		got := s.Limits(botmesh.ChatKey{Provider: ID, Chat: chat, Participant: "55"})
		if most := got.Chat.Burst + int(want.window/got.Chat.Every); got.Address != want.address || most != want.most {
			t.Errorf("%s: got %q and %d calls in %v, want %q and %d", chat, got.Address, most, want.window, want.address, want.most)
		}
		if most := got.Account.Burst + int(time.Second/got.Account.Every); most > 30 {
			t.Errorf("%s: got %d calls in a second of the account, want at most 30", chat, most)
		}
	}
}
