package workerd_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/examples/demo"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/ingressd"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/redistest"
	"github.com/botmesh-go/botmesh/internal/workerd"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/worker"
)

// buzzer is a platform that Botmesh has no package of: its webhook is a text.
type buzzer struct {
	mu   sync.Mutex
	sent []string
}

func (*buzzer) ID() string     { return "buzzer" }
func (*buzzer) MaxBody() int64 { return 1000 }
func (*buzzer) Verify(h http.Header, _ []byte) error {
	if h.Get("X-Buzzer") != "right" {
		return errors.New("buzzer: who is there?")
	}
	return nil
}

func (b *buzzer) Parse(h http.Header, body []byte) ([]botmesh.Record, error) {
	return []botmesh.Record{{
		Type: botmesh.TypeMessage, ID: h.Get("X-Buzz"), Chat: botmesh.ChatKey{Provider: "buzzer", Chat: "door"},
		Message: botmesh.Message{Text: string(body)},
	}}, nil
}

func (*buzzer) Split(s botmesh.Send) []botmesh.Send { return []botmesh.Send{s} }

func (b *buzzer) Call(_ context.Context, c provider.Call) (provider.Sent, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = append(b.sent, c.Send.Text)
	return provider.Sent{}, nil
}

func (b *buzzer) got() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.sent) == 1 {
		return b.sent[0]
	}
	return ""
}

// A program brings a provider of its own, to the ingress and to the worker, and
// needs no other.
//
// SPEC: X1
func TestAProviderOfTheProgramsOwn(t *testing.T) {
	t.Parallel()
	l, err := config.Load(config.Input{Environ: []string{
		"BOTMESH_NATS_URL=" + natstest.Start(t), "BOTMESH_REDIS_URL=" + redistest.Start(t).URL(), "BOTMESH_LISTEN=127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	s, door := l.Config, &buzzer{}
	if err := errors.Join(s.CheckSenders(), s.CheckReceivers()); err != nil {
		t.Errorf("got %v, want settings without any provider to do", err)
	}
	in, err := ingressd.New(t.Context(), ingressd.Config{Settings: s, Receivers: []provider.Receiver{door}})
	if err != nil {
		t.Fatal(err)
	}
	run(t, in.Run)
	runner, err := worker.New(worker.Config{Bot: demo.Bot()})
	if err != nil {
		t.Fatal(err)
	}
	w, err := workerd.New(t.Context(), workerd.Config{Settings: s, Runner: runner, Senders: []provider.Sender{door}})
	if err != nil {
		t.Fatal(err)
	}
	run(t, w.Run)
	address := "http://" + in.Addr() + "/webhooks/buzzer"
	if got := post(t, address, http.Header{}, []byte("/count")); got != http.StatusUnauthorized {
		t.Errorf("a wrong signature: got %d, want 401", got)
	}
	for range 2 { // it repeats itself
		natstest.Until(t, "the webhook is taken", func() bool {
			return post(t, address, http.Header{"X-Buzzer": {"right"}, "X-Buzz": {"1"}}, []byte("/count")) == http.StatusOK
		})
	}
	natstest.Until(t, "the answer", func() bool { return door.got() == "count: 1" })
}
