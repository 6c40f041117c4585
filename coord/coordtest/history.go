package coordtest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
)

// act is one call of a history: what was done to which key, and what came of it.
type act struct {
	key   string
	verb  string // take, release; lock, renew, unlock
	fence uint64 // of what was taken or is given up
	ok    bool   // it was done; else it was held by another
}

// history is what a crowd did, and when. Safe for concurrent use.
type history struct {
	began time.Time
	mu    sync.Mutex
	acts  []porcupine.Operation
	doubt map[string]bool // keys of calls without an answer: they prove nothing
}

func newHistory() *history { return &history{began: time.Now(), doubt: map[string]bool{}} }

// note runs a call and keeps what came of it.
func (h *history) note(client int, do func() (act, error)) {
	call := time.Since(h.began)
	a, err := do()
	end := time.Since(h.began)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acts = append(h.acts, porcupine.Operation{ClientId: client, Call: call.Nanoseconds(), Output: a, Return: end.Nanoseconds()})
	if err != nil && !errors.Is(err, coord.ErrHeld) && !errors.Is(err, botmesh.ErrLeaseLost) {
		h.doubt[a.key] = true
	}
}

// held is the state of a key in the model: the fence of its holder, zero if there
// is none, and the highest that was given.
type held struct{ holder, fence uint64 }

// oneHolder is the model of a key: one holder, and fences that grow.
var oneHolder = porcupine.Model{
	Partition: func(acts []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, o := range acts {
			key := o.Output.(act).key
			byKey[key] = append(byKey[key], o)
		}
		var parts [][]porcupine.Operation
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return held{} },
	Step: func(state, _, output any) (bool, any) {
		s, a := state.(held), output.(act)
		switch {
		case !a.ok: // somebody else holds it
			return s.holder != 0 && s.holder != a.fence, s
		case a.verb == "take" || a.verb == "lock":
			return s.holder == 0 && a.fence > s.fence, held{a.fence, a.fence}
		case a.verb == "renew":
			return s.holder == a.fence, s
		default:
			return s.holder == a.fence, held{fence: s.fence}
		}
	},
	DescribeOperation: func(_, output any) string { return fmt.Sprintf("%+v", output) },
}

// check judges a history.
func (h *history) check(t testing.TB) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	acts := slices.DeleteFunc(slices.Clone(h.acts), func(o porcupine.Operation) bool { return h.doubt[o.Output.(act).key] })
	if len(acts) == 0 {
		t.Error("no call was answered in time: this run proves nothing")
		return
	}
	if got := porcupine.CheckOperationsTimeout(oneHolder, acts, time.Minute); got != porcupine.Ok {
		t.Errorf("%d calls: got %s, want a history that one holder at a time explains", len(acts), got)
	}
}

// SPEC: T1 T9 L7. Whatever a crowd does at once to turns and locks, there is an order
// of its calls that one holder at a time explains.
func testLinearizable(t *testing.T, f Fleet) {
	const replicas, clients, rounds, keys = 3, 2, 15, 3
	h := newHistory()
	var crowd sync.WaitGroup
	for r := range replicas {
		c := f.Join(t, coord.Config{})
		for n := range clients {
			client := r*clients + n
			crowd.Go(func() {
				for i := range rounds {
					key := "key-" + strconv.Itoa((client+i)%keys)
					takeAndRelease(t, h, client, c, key)
					if l, ok := c.(coord.Locker); ok {
						lockAndUnlock(t, h, client, l, key)
					}
				}
			})
		}
	}
	crowd.Wait()
	h.check(t)
}

func takeAndRelease(t *testing.T, h *history, client int, c coord.Coordinator, key string) {
	var turn coord.Turn
	h.note(client, func() (act, error) {
		turn = take(t, c, coord.Request{Key: key})
		return act{"turn " + key, "take", turn.Fence(), true}, nil
	})
	h.note(client, func() (act, error) {
		err := turn.Release(t.Context(), 0)
		return act{"turn " + key, "release", turn.Fence(), err == nil}, err
	})
}

func lockAndUnlock(t *testing.T, h *history, client int, l coord.Locker, key string) {
	var lock coord.Lock
	var err error
	h.note(client, func() (act, error) {
		lock, err = l.AcquireLockFenced(t.Context(), key, long)
		return act{"lock " + key, "lock", lock.Fence, err == nil}, err
	})
	if err != nil {
		return
	}
	h.note(client, func() (act, error) {
		err := l.RenewLock(t.Context(), key, lock.Token, long)
		return act{"lock " + key, "renew", lock.Fence, err == nil}, err
	})
	h.note(client, func() (act, error) {
		err := l.ReleaseLock(t.Context(), key, lock.Token)
		return act{"lock " + key, "unlock", lock.Fence, err == nil}, err
	})
}
