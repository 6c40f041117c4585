package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/internal/doctor"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/redistest"
	"github.com/botmesh-go/botmesh/internal/workerd"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/provider"
)

// silent is a platform whose answers are lost.
type silent struct{}

func (silent) ID() string                          { return "telegram" }
func (silent) Split(s botmesh.Send) []botmesh.Send { return []botmesh.Send{s} }

func (silent) Call(context.Context, provider.Call) (provider.Sent, error) {
	return provider.Sent{}, fmt.Errorf("no answer: %w", botmesh.ErrUnknown)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// holdPart has the bot demo say something to a chat of which nobody knows whether it
// reached the platform, and returns the part.
func holdPart(t *testing.T, nats string, chat botmesh.ChatKey) string {
	t.Helper()
	ctx := t.Context()
	conn, err := jet.Dial(ctx, jet.Config{URL: nats})
	must(t, err)
	defer conn.Close()
	j, err := journal.Open(ctx, journal.Config{Bot: "demo", Inbox: conn.Stream(journal.InboxStream("demo")), Dead: conn.Stream(journal.DeadStream("demo"))})
	must(t, err)
	placed, err := j.Publish(ctx, botmesh.Record{Type: botmesh.TypeMessage, ID: "m1", Chat: chat})
	must(t, err)
	o, err := outbox.Open(ctx, outbox.Config{
		Stream: conn.Stream(outbox.StreamName("demo")), Bot: "demo", Incarnation: "worker1/a", Senders: []provider.Sender{silent{}},
		InDoubt: map[string]outbox.Policy{"telegram": outbox.Hold}, Dead: workerd.SetAside(j),
	})
	must(t, err)
	letter, err := o.Letter(botmesh.LetterID(chat, j.Epoch(), placed.Seq), chat, []botmesh.Send{{Text: "your order is paid"}}, time.Now(), nil)
	must(t, err)
	seq, err := o.Append(ctx, letter, 0)
	must(t, err)
	d := o.Deliver(ctx, chat)
	d.Put(seq, letter)
	_, err = d.Wait(ctx, seq)
	must(t, err)
	_, err = d.Close(ctx)
	must(t, err)
	return letter.Parts[0].ID
}

// A part that may have been sent is found by the doctor, named by the listing and sent
// by a release, once.
func TestAHeldPartIsFoundAndReleased(t *testing.T) {
	t.Parallel()
	env := []string{"BOTMESH_NATS_URL=" + natstest.Start(t), "BOTMESH_REDIS_URL=" + redistest.Start(t).URL()}
	if code, _, stderr := finished(t, env, "streams", "apply"); code != 0 {
		t.Fatalf("got %d: %s", code, stderr)
	}
	chat := botmesh.ChatKey{Provider: "telegram", Chat: "42"}
	part := holdPart(t, strings.TrimPrefix(env[0], "BOTMESH_NATS_URL="), chat)
	if _, found := examined(t, env); level(found, "held parts") != doctor.Warning {
		t.Errorf("got %v, want a warning of the held part", found)
	}
	_, stdout, stderr := finished(t, env, "outbox", "ls")
	if !strings.Contains(stdout, part) {
		t.Errorf("got %s%s, want %s named", stdout, stderr, part)
	}
	for _, step := range []struct {
		args     []string
		says     string
		held     int
		released int
	}{
		{[]string{"--part", part, "--dry-run"}, "would be done: outbox release telegram/42 " + part, 1, 0},
		{[]string{"--part", part}, "done: outbox release telegram/42 " + part, 0, 1},
		{[]string{"--part", part}, "nothing to do: outbox release", 0, 1},
	} {
		code, stdout, stderr := finished(t, env, append([]string{"outbox", "release", "telegram/42"}, step.args...)...)
		if code != 0 || !strings.HasPrefix(stdout, step.says) {
			t.Errorf("%v: got exit code %d and %s%s, want %q", step.args, code, stdout, stderr, step.says)
		}
		held := 0
		for _, u := range asked[[]admin.Unsent](t, env, "outbox", "ls") {
			held += len(u.Held)
		}
		released := 0
		for _, r := range asked[[]admin.Record](t, env, "journal", "ls", "--chat=telegram/42") {
			if r.Type == botmesh.TypeCommand {
				released++
			}
		}
		if held != step.held || released != step.released {
			t.Errorf("after %v: got %d held parts and %d records of a release, want %d and %d", step.args, held, released, step.held, step.released)
		}
	}
	if code, _, stderr := finished(t, env, "outbox", "release", "telegram/42", "--part", part+"0"); code != 1 || !strings.Contains(stderr, "is not held") {
		t.Errorf("a part that is not there: got exit code %d and %s, want 1", code, stderr)
	}
	if _, found := examined(t, env); level(found, "held parts") != doctor.Fine {
		t.Errorf("got %v, want no held part left", found)
	}
}
