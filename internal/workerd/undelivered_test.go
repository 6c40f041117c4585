package workerd_test

import (
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/internal/ingressd"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/redistest"
	"github.com/botmesh-go/botmesh/internal/workerd"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/provider/whatsapp/whatsapptest"
	"github.com/botmesh-go/botmesh/worker"
)

// The platform says yes, and later that the user did not get it: the bot hears of it
// once, however often the platform says so, and what it says about that, and is not
// delivered either, does not come back. Both are dead letters; the chat is called no
// more until its user writes.
//
// SPEC: O5 O6. DESIGN: C9 D7
func TestTheBotHearsOfWhatWasTakenAndNotDelivered(t *testing.T) {
	t.Parallel()
	nats := natstest.Start(t)
	p, env := whatsApp(t)
	s := settings(t, append(env, "BOTMESH_NATS_URL="+nats, "BOTMESH_REDIS_URL="+redistest.Start(t).URL(), "BOTMESH_WHATSAPP_CHAT_RATE=off")...)
	in, err := ingressd.New(t.Context(), ingressd.Config{Settings: s})
	if err != nil {
		t.Fatal(err)
	}
	run(t, in.Run)
	told := bot.State[int]("told")
	b := bot.New().
		Command("/bad", func(c *bot.Context) error { c.Say("bad"); return nil }).
		Command("/told", func(c *bot.Context) error { c.Sayf("told %d", *told.Of(c)); return nil }).
		OnSendFailed(func(c *bot.Context) error {
			*told.Of(c)++
			if got := c.Record().Failed; got.Send.Text != "bad" || got.Tries != 1 || got.Of == "" || !strings.HasPrefix(got.Error, "13") {
				t.Errorf("got the failure %+v, want that of the message", got)
			}
			c.Say("sorry")
			return nil
		})
	runner, err := worker.New(worker.Config{Bot: b})
	if err != nil {
		t.Fatal(err)
	}
	w, err := workerd.New(t.Context(), workerd.Config{Settings: s, Runner: runner})
	if err != nil {
		t.Fatal(err)
	}
	run(t, w.Run)
	address := "http://" + in.Addr() + "/webhooks/whatsapp"
	tell := func(i whatsapptest.Item) {
		body := whatsapptest.Webhook(number, i)
		p.deliver(t, address, whatsapptest.Sign("wa-secret", body), body)
	}
	say := func(n int, text string) {
		h, body := p.text(n, text)
		p.deliver(t, address, h, body)
	}
	say(1, "/bad")
	bad := p.wait(t, 1)
	tell(whatsapptest.Undelivered(bad, 131053, "Media upload error"))
	sorry := p.wait(t, 2) // not blocked: said without a word of the user's
	if sorry.Text != "sorry" {
		t.Fatalf("got %q, want sorry", sorry.Text)
	}
	tell(whatsapptest.Undelivered(sorry, 131053, "Media upload error"))
	bad.ID = bad.Part // of the same part again, and another record by its id
	tell(whatsapptest.Undelivered(bad, 131053, "Media upload error"))
	say(2, "/told")
	if got := p.wait(t, 3).Text; got != "told 1" {
		t.Errorf("got %q, want told 1", got)
	}
	say(3, "/bad")
	tell(whatsapptest.Undelivered(p.wait(t, 4), 131026, "Message undeliverable")) // what is said about it is not called
	say(4, "/told")
	if got := p.wait(t, 5).Text; got != "told 2" {
		t.Errorf("got %q, want told 2 and no second sorry", got)
	}

	conn, err := jet.Dial(t.Context(), jet.Config{URL: nats})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	j, err := journal.Open(t.Context(), journal.Config{Bot: s.Bot, Inbox: conn.Stream(journal.InboxStream(s.Bot)), Dead: conn.Stream(journal.DeadStream(s.Bot))})
	if err != nil {
		t.Fatal(err)
	}
	chat := botmesh.ChatKey{Provider: "whatsapp", Chat: "155"}
	say(5, "/bad")
	bad = p.wait(t, 6)
	if _, err := j.SetAsidePart(t.Context(), journal.DeadPart{Chat: chat, Part: bad.Part}); err != nil { // as an older build did
		t.Fatal(err)
	}
	tell(whatsapptest.Undelivered(bad, 131053, "Media upload error"))
	say(6, "/told")
	if got := p.wait(t, 7).Text; got != "told 2" {
		t.Errorf("got %q, want told 2: an older build told of it", got)
	}

	dead, err := j.DeadLetters(t.Context(), journal.Filter{Chat: chat})
	if err != nil {
		t.Fatal(err)
	}
	if len(dead) != 4 {
		t.Errorf("got %d dead letters, want the three bad ones and the first sorry: %+v", len(dead), dead)
	}
}
