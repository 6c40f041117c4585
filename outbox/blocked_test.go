package outbox

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// say appends a letter and has it delivered. heard is what its user did last.
func (p *process) say(text, heard string) {
	p.w.Helper()
	p.w.number++
	l, err := p.Letter(botmesh.LetterID(chatA, "j1", uint64(p.w.number)), chatA, []botmesh.Send{{Text: text}}, time.Now(), nil)
	if err != nil {
		p.w.Fatal(err)
	}
	l.Heard = heard
	if p.w.out, err = p.Append(p.w.Context(), l, p.w.out); err != nil {
		p.w.Fatal(err)
	}
	p.deliver(p.w.out)
}

// A user who blocked the bot is called in vain once. What follows is refused without a
// call, on any replica, until the user does something.
//
// SPEC: O5 O6
func TestABlockedChatIsNotCalledUntilItsUserIsBack(t *testing.T) {
	for _, policy := range []Policy{Resend, Hold} {
		t.Run(map[Policy]string{Resend: "Resend", Hold: "Hold"}[policy], func(t *testing.T) {
			bubble(t, func(w *world) {
				var told []string
				blocked := true
				replica := func(name string) *process {
					p := w.process(name, func(c *Config) {
						c.InDoubt = map[string]Policy{"test": policy}
						c.Dead = func(_ context.Context, d DeadSend) error { told = append(told, d.Part.Send.Text); return nil }
					})
					p.answer = func(context.Context, string) error {
						if blocked {
							return provider.Blocked(errors.New("403 blocked by the user"))
						}
						return nil
					}
					return p
				}
				a, b := replica("a"), replica("b")
				a.say("1,2", "j1.1") // the user pressed a button and blocked the bot right away
				a.say("3", "j1.1")
				b.say("4", "j1.1")
				b.say("5", "j1.2") // still blocked: known from this call
				b.say("6", "j1.2")
				blocked = false
				a.say("7", "j1.2")
				b.say("8", "j1.3") // the user is back, and a backend answers
				b.say("9", "j1.3")
				blocked = true
				a.say("10", "") // put back by an operator, or by an older build
				a.say("11", "")
				want(w, "calls", w.called(), []string{"a:1", "b:5", "b:8", "b:9", "a:10", "a:11"})
				want(w, "told of failures", told, []string{"1", "5", "10", "11"})
				fates, err := a.Fates(w.Context(), chatA, 0, 100)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, f := range fates {
					state := string(f.State())
					if strings.HasPrefix(f.Receipt.Error, "not called since: 403") && f.Receipt.Attempts == 0 {
						state = "refused"
					}
					got = append(got, f.Part.Send.Text+" "+state)
				}
				if diff := gocmp.Diff([]string{"1 dead", "2 refused", "3 refused", "4 refused", "5 dead", "6 refused", "7 refused", "8 sent", "9 sent", "10 dead", "11 dead"}, got); diff != "" {
					t.Errorf("fates (-want +got):\n%s", diff)
				}
			})
		})
	}
}
