package journal

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// faults are what happens to the tries of a run, in the order they are made; tries
// after the last one go well.
type faults struct {
	jet.Stream
	mu   sync.Mutex
	left []string
}

func (f *faults) Publish(ctx context.Context, p jet.Publish) (jet.Ack, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fault := ""
	if len(f.left) > 0 {
		fault, f.left = f.left[0], f.left[1:]
	}
	switch fault {
	case "refused":
		return jet.Ack{}, botmesh.ErrRefused
	case "lost before":
		return jet.Ack{}, botmesh.ErrUnknown
	case "lost after":
		if _, err := f.Stream.Publish(ctx, p); err != nil {
			return jet.Ack{}, err
		}
		return jet.Ack{}, botmesh.ErrUnknown
	}
	return f.Stream.Publish(ctx, p)
}

// SPEC: J1 J2 J3 J4. Webhooks are posted until they are answered with success,
// some to another process too, whatever happens to the tries: each record is there
// once and in order.
func TestWebhooksUnderFaults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		tries := rapid.SliceOfN(rapid.SampledFrom([]string{"", "refused", "lost before", "lost after"}), 0, 40).Draw(rt, "tries")
		hooks := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 2), 1, 5), 1, 6).Draw(rt, "webhooks, by the chats of their records")
		patience := time.Duration(rapid.IntRange(1, 100).Draw(rt, "patience in ms")) * time.Millisecond
		twice := rapid.Bool().Draw(rt, "each to two processes")
		var got, want map[string][]string
		synctest.Test(t, func(t *testing.T) { got, want = postAll(t, tries, hooks, patience, twice) })
		for chat := range want {
			if !slices.Equal(got[chat], want[chat]) {
				rt.Errorf("chat %s: got %q, want %q", chat, got[chat], want[chat])
			}
		}
	})
}

func postAll(t *testing.T, tries []string, hooks [][]int, patience time.Duration, twice bool) (got, want map[string][]string) {
	server := jet.NewMemory()
	a, b := openMemory(t, server, "e1"), openMemory(t, server, "e1")
	broken := &faults{Stream: a.inbox, left: tries}
	a.inbox, b.inbox = broken, broken
	got, want = map[string][]string{}, map[string][]string{}
	n := 0
	for _, hook := range hooks {
		var records []botmesh.Record
		for _, c := range hook {
			n++
			id := fmt.Sprint(n)
			records = append(records, message(chat(fmt.Sprint(c)), id, id))
			want[fmt.Sprint(c)] = append(want[fmt.Sprint(c)], id)
		}
		post(t, a, records, patience)
		if twice {
			post(t, b, records, patience)
		}
	}
	for c := range want {
		got[c] = texts(t, a, chat(c), 0)
	}
	return got, want
}

// post repeats a webhook as a platform does.
func post(t *testing.T, j *Journal, records []botmesh.Record, patience time.Duration) {
	for {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := j.PublishAll(ctx, records)
		cancel()
		if err == nil {
			return
		}
	}
}
