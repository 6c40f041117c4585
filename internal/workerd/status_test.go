package workerd_test

import (
	"net/http"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/ingressd"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/redistest"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/provider/whatsapp/whatsapptest"
)

// What an operator asks: was it delivered, was it read? The statuses come the wrong way
// round, and begin no turn.
//
// SPEC: O6 J9
func TestWhatTheUserSawIsKnown(t *testing.T) {
	t.Parallel()
	nats := natstest.Start(t)
	p, env := whatsApp(t)
	s := settings(t, append(env, "BOTMESH_NATS_URL="+nats, "BOTMESH_REDIS_URL="+redistest.Start(t).URL())...)
	in, err := ingressd.New(t.Context(), ingressd.Config{Settings: s})
	if err != nil {
		t.Fatal(err)
	}
	run(t, in.Run)
	run(t, newWorker(t, s).Run)
	natstest.Until(t, "webhooks are stored", func() bool { return in.Stores(t.Context()) == nil })
	address := "http://" + in.Addr() + "/webhooks/whatsapp"
	h, body := p.text(1, "/count")
	p.deliver(t, address, h, body)
	sent := p.wait(t, 1)
	for _, word := range []string{"read", "sent", "delivered"} {
		body := whatsapptest.Webhook(number, whatsapptest.Status(sent.ID, "155", word))
		if got := post(t, address, whatsapptest.Sign("wa-secret", body), body); got != http.StatusOK {
			t.Fatalf("got %d for a status, want 200", got)
		}
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
	out, err := outbox.Open(t.Context(), outbox.Config{Stream: conn.Stream(outbox.StreamName(s.Bot)), Bot: s.Bot})
	if err != nil {
		t.Fatal(err)
	}
	chat := botmesh.ChatKey{Provider: "whatsapp", Chat: "155"}
	natstest.Until(t, "the message is known to be read", func() bool {
		fates, err := out.Fates(t.Context(), chat, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		told, err := j.Statuses(t.Context(), journal.Filter{Chat: chat})
		if err != nil {
			t.Fatal(err)
		}
		var statuses []botmesh.Record
		for _, e := range told {
			statuses = append(statuses, e.Record)
		}
		outbox.Attach(fates, statuses)
		return len(fates) == 1 && fates[0].Receipt != nil && fates[0].Receipt.ProviderID == sent.ID && fates[0].State() == outbox.StateRead && !fates[0].Delivered.IsZero()
	})
	if got := p.Texts("155"); len(got) != 1 {
		t.Errorf("got %q, want one answer: a status begins no turn", got)
	}
}
