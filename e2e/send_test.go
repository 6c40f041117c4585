package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/e2e/fleet"
)

const adminToken = "e2e-admin-token-1"

// order asks a worker to send to a chat.
func order(ctx context.Context, r *fleet.Replica, chat int64, text, key string) error {
	status, _, err := r.Send(ctx, fleet.Sending{Token: adminToken, Chat: fmt.Sprintf("telegram/%d", chat), Text: text, Key: key})
	if err == nil && status != http.StatusAccepted {
		err = fmt.Errorf("got %d, want 202", status)
	}
	return err
}

// A backend sends through any worker, each request again at another one: the chat's
// user gets each message once, in its place, and the question that is open stays so.
//
// SPEC: J2 O2 DESIGN C9
func TestSendFromOutsideTakesItsPlaceInTheChatOnce(t *testing.T) {
	t.Parallel()
	s := started(t, map[string]string{"BOTMESH_ADMIN_TOKEN": adminToken})
	const chat, messages = 7, 20
	s.say(chat, "/order")
	s.hears(chat, "What would you like to order?", 20*time.Second)
	for i := range messages {
		text, key := fmt.Sprintf("offer %d", i), fmt.Sprintf("key-%d", i)
		for _, w := range s.Workers[:2] {
			if err := order(s.within(20*time.Second), w, chat, text, key); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.hears(chat, fmt.Sprintf("offer %d", messages-1), 20*time.Second)
	for _, answer := range []string{"pizza", "2", "yes"} {
		s.say(chat, answer)
	}
	s.hears(chat, "ordered: 2 x pizza", 20*time.Second)
	s.idle(20 * time.Second)
	var offers []string
	for _, c := range s.Calls() {
		if len(c.Text) > 5 && c.Text[:5] == "offer" {
			offers = append(offers, c.Text)
		}
	}
	want := make([]string, messages)
	for i := range want {
		want[i] = fmt.Sprintf("offer %d", i)
	}
	if !slices.Equal(offers, want) {
		t.Errorf("got %q, want each offer once, in order", offers)
	}
}
