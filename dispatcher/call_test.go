package dispatcher_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/dispatcher"
	"github.com/botmesh-go/botmesh/journal"
)

// homely is a runner whose conversations stay, and that notes who ran what.
type homely struct {
	*counter
	who string
	log *runs
}

// runs are the replicas that ran the records, in order.
type runs struct {
	mu  sync.Mutex
	all []string
}

func (h homely) Run(ctx context.Context, r botmesh.Run, m botmesh.Midway) (botmesh.Outcome, error) {
	h.log.mu.Lock()
	h.log.all = append(h.log.all, h.who)
	h.log.mu.Unlock()
	return h.counter.Run(ctx, r, m)
}

func (r *runs) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

type stayer struct{ homely }

func (stayer) Stays(state []byte) bool { return len(state) > 0 }

// A chat whose conversation is in the memory of one replica is served by that, whoever is
// told of its messages; when it is gone, by another.
func TestAChatGoesToTheReplicaThatHasItsConversation(t *testing.T) {
	t.Parallel()
	for name, stays := range map[string]bool{"stays": true, "is anybody's": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, log := newWorld(t), &runs{}
				for i := range 3 {
					w.start(func(c *dispatcher.Config) {
						h := homely{w.bot, strconv.Itoa(i), log}
						if c.Runner = h; stays {
							c.Runner = stayer{h}
						}
					})
				}
				w.post("1", "x")
				w.settled(time.Minute)
				first := log.take()
				home, _ := strconv.Atoi(first[0])
				w.replicas[home].gate.deafen() // the journal tells it of nothing any more
				time.Sleep(lease)
				const messages = 10
				began := time.Now()
				for range messages {
					w.post("1", "x")
					w.settled(time.Minute)
				}
				got := log.take()
				if len(got) != messages || slices.Contains(got, first[0]) != stays || stays && len(slices.Compact(got)) > 1 {
					t.Errorf("the first was run at replica %d, and then: got %q, want %d runs, all there: %t", home, got, messages, stays)
				}
				t.Log(messages, "messages took", time.Since(began))
				if !stays {
					w.drainAll()
					return
				}
				w.replicas[home].gate.kill()
				w.post("1", "x")
				w.settled(time.Minute)
				w.post("1", "x")
				w.settled(time.Minute)
				if got := log.take(); len(got) != 2 || got[0] != got[1] || got[0] == strconv.Itoa(home) {
					t.Errorf("when replica %d is dead: got the runs at %q, want two at another one", home, got)
				}
				w.drainAll()
				if got, want := len(w.platform.texts("1")), 1+messages+2; got != want {
					t.Errorf("got %d answers, want %d", got, want)
				}
			})
		})
	}
}

// A call of a nudge that is here changes nothing, and one that is of no use opens no chat.
func TestCallsOfNoUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.bot.on = func(_ context.Context, _ botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			time.Sleep(time.Second)
			return o, nil
		}
		r := w.start()
		other, err := coord.NewMemory(w.hub, coord.Config{})
		if err != nil {
			t.Fatal(err)
		}
		call := func(message string) {
			t.Helper()
			if err := other.Call(t.Context(), r.coord.Incarnation(), message); err != nil {
				t.Fatal(err)
			}
		}
		for name, message := range map[string]string{
			"of another build":   "come",
			"of an older build":  `{"chat":{"provider":"fake","chat":"1"},"epoch":"e1","seq":1}`,
			"of no chat":         `{"chat":"","epoch":"e1","seq":1}`,
			"of no record":       `{"chat":"fake/1","epoch":"e1"}`,
			"of another journal": `{"chat":"fake/1","epoch":"e0","seq":1}`,
		} {
			call(message)
			if got := r.d.Status().Lanes; len(got) > 0 {
				t.Errorf("a call %s: got %+v, want no chat opened", name, got)
			}
		}
		w.post("1", "x")
		time.Sleep(time.Second / 2)
		call(`{"chat":"fake/1","epoch":"e1","seq":1}`) // of what runs
		w.settled(lease / 3)
		for _, message := range []string{
			`{"chat":"fake/2","epoch":"e1","seq":1}`,       // of another chat
			`{"chat":"fake/2","epoch":"e1","seq":1000000}`, // of what is not there yet
			`{"chat":"fake/1","epoch":"e1","seq":1}`,       // of what was done
		} {
			call(message)
			synctest.Wait()
			if got := r.d.Status().Lanes; len(got) > 0 {
				t.Errorf("%s: got %+v, want no chat open any more", message, got)
			}
		}
		w.post("2", "x")
		w.settled(lease / 3)
		r.stop()
		<-r.done
		for range 20 { // as it would end at once
			call(`{"chat":"fake/1","epoch":"e1","seq":1}`)
			if got := r.d.Status().Lanes; len(got) > 0 {
				t.Fatalf("a call when all has ended: got %+v, want no chat opened", got)
			}
		}
		if got := w.bot.ran(); got != 2 {
			t.Errorf("got %d runs, want 2", got)
		}
		if err := other.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.drainAll()
	})
}

// homes starts replicas whose conversations stay, and returns the one that has the first of a
// chat, which the journal tells of nothing any more.
func (w *world) homes(n int, chat botmesh.ChatKey, log *runs, configure ...func(*dispatcher.Config)) *replica {
	w.t.Helper()
	for i := range n {
		w.start(append([]func(*dispatcher.Config){func(c *dispatcher.Config) {
			c.Runner = stayer{homely{w.bot, strconv.Itoa(i), log}}
		}}, configure...)...)
	}
	w.postTo(chat, "first")
	w.settled(time.Minute)
	home, err := strconv.Atoi(log.take()[0])
	if err != nil {
		w.t.Fatal(err)
	}
	w.replicas[home].gate.deafen()
	time.Sleep(lease)
	return w.replicas[home]
}

// postTo journals a message of any chat.
func (w *world) postTo(chat botmesh.ChatKey, id string) {
	w.t.Helper()
	p, err := journal.NewPublisher(journal.Config{Bot: "demo", Inbox: w.stream("INBOX")})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err = p.Publish(w.t.Context(), botmesh.Record{Type: botmesh.TypeMessage, ID: id, Chat: chat, User: "user"}); err != nil {
		w.t.Fatal(err)
	}
}

// A chat whose id is not UTF-8 is called for by the name that it has.
func TestAChatOfAnyNameIsCalledFor(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		log, chat := &runs{}, botmesh.ChatKey{Provider: "fake", Chat: "\xff\xfe<&/", Participant: "\x00"}
		home := w.homes(3, chat, log)
		w.postTo(chat, "second")
		w.settled(time.Minute)
		at, err := strconv.Atoi(log.take()[0])
		if err != nil || w.replicas[at] != home {
			t.Errorf("got the run at replica %d (%v), want it where the conversation is", at, err)
		}
	})
}

// mute is a coordinator that is away at times: then nobody answers for two seconds.
type mute struct {
	*coord.MemoryCoordinator
	away *atomic.Bool
}

func (m mute) Away(string) bool     { return m.away.Load() }
func (m mute) Denied() error        { return nil }
func (m mute) AwaySince() time.Time { return time.Time{} }

func (m mute) Alive(ctx context.Context, incarnation string) (bool, error) {
	if m.away.Load() {
		time.Sleep(2 * time.Second)
		return false, botmesh.ErrRefused
	}
	return m.MemoryCoordinator.Alive(ctx, incarnation)
}

// While the coordinator is away a chat does not wait for its answers.
func TestNobodyIsCalledWhileTheCoordinatorIsAway(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		var away atomic.Bool
		w.homes(3, key("1"), &runs{}, func(c *dispatcher.Config) {
			o, err := coord.NewOptimistic(coord.OptimisticConfig{Coordinator: mute{c.Coordinator.(*coord.MemoryCoordinator), &away}})
			if err != nil {
				t.Fatal(err)
			}
			c.Coordinator = o
		})
		away.Store(true)
		began := time.Now()
		w.post("1", "x")
		w.waitFor(func() bool { return len(w.platform.texts("1")) == 2 })
		if took := time.Since(began); took > time.Second {
			t.Errorf("got an answer after %s, want it at once", took)
		}
	})
}
