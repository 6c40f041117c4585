package whatsapp

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
)

// A message that failed after it was taken is told to the chat that it was sent to,
// whatever the platform calls its user by now.
//
// SPEC: O5 O6
func TestAFailureIsToldToItsChat(t *testing.T) {
	t.Parallel()
	status := func(fields string) string {
		return webhookOf("messages", `{"metadata":{"phone_number_id":"7"},"statuses":[{"id":"w1","recipient_id":"155","status":`+fields+`}]}`)
	}
	failure := func(code string, blocked bool) *botmesh.Failure {
		return &botmesh.Failure{Part: "whatsapp.155/e.7/0.0", Of: "w1", Error: code, Blocked: blocked}
	}
	const ours = `,"biz_opaque_callback_data":"whatsapp.155/e.7/0.0"`
	for name, c := range map[string]struct {
		body string
		want *botmesh.Failure
	}{
		"Window":        {status(`"failed"` + ours + `,"errors":[{"code":131047,"title":"Re-engagement message"}]`), failure("131047 Re-engagement message", true)},
		"Undeliverable": {status(`"failed"` + ours + `,"errors":[{"code":131026,"title":"Message undeliverable"}]`), failure("131026 Message undeliverable", true)},
		"Content":       {status(`"failed"` + ours + `,"errors":[{"code":131053,"title":"Media upload error"}]`), failure("131053 Media upload error", false)},
		"NoReason":      {status(`"failed"` + ours), failure("the platform gave no reason", false)},
		"NewUserID":     {status(`"failed","recipient_user_id":"US.1"` + ours), failure("the platform gave no reason", false)},
		"Delivered":     {status(`"delivered"` + ours), nil},
		"OneOfAGroup":   {status(`"failed","recipient_type":"group"` + ours), nil},
		"NotOurs":       {status(`"failed","biz_opaque_callback_data":"order 7"`), nil},
		"NoPart":        {status(`"failed"`), nil},
		"OtherProvider": {status(`"failed","biz_opaque_callback_data":"telegram.155/e.7/0.0"`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recs := parse(t, c.body)
			if recs[0].Type != botmesh.TypeStatus {
				t.Errorf("got a %s first, want the status", recs[0].Type)
			}
			var got *botmesh.Failure
			if len(recs) == 2 {
				got = recs[1].Failed
				if recs[1].Type != botmesh.TypeEvent || recs[1].Chat != (botmesh.ChatKey{Provider: ID, Chat: "155"}) || recs[1].User != "" {
					t.Errorf("got a %s of %q in %v, want an event of nobody's in 155", recs[1].Type, recs[1].User, recs[1].Chat)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
		})
	}
}
