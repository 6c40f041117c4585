package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/fleet"
)

// Every second the worker that holds a chat's turn is killed and started again.
// Some chats are in a long turn nearly all the time, so that the kill falls into
// one; a run in which too few did proves nothing and fails.
//
// SPEC: J5 J6 T1 T6 T9 O1 O2 O7 D4 DESIGN I1 I2 I4
func TestKilledWorkersLoseAndRepeatNothing(t *testing.T) { // alone: it loads the machine
	s := started(t, nil)
	const seconds = 11
	steady := load{chats: 64, messages: 50, pause: 250 * time.Millisecond}
	turns := newLongTurns(s, 6)

	ctx := s.within(2 * time.Minute)
	done := make(chan error, 1)
	go func() { done <- steady.run(ctx, s) }()
	turns.start(ctx)

	kills, inside := 0, 0
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for range seconds {
		select {
		case <-tick.C:
		case err := <-done:
			t.Fatalf("the load ended before the kills did: %v", err)
		}
		victim := turns.holder(ctx)
		if victim == nil {
			continue
		}
		s.Kill(ctx, victim)
		kills++
		if turns.interrupted(victim.Process()) {
			inside++
		}
		if err := victim.Launch(); err != nil {
			t.Fatal(err)
		}
	}
	told := turns.stop(ctx)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if kills < seconds/2 || inside < kills/2 {
		t.Errorf("got %d kills in %d s, %d of them inside a turn, want half", kills, seconds, inside)
	}
	want := steady.want()
	maps.Copy(want, told)
	s.idle(20 * time.Second)
	s.judge(withoutEager(s.Calls()), want)
	s.eventually(10*time.Second, "a death was counted", func(context.Context) error {
		if s.sum(s.Workers, "bot_turn_deaths_total") == 0 {
			return fmt.Errorf("none")
		}
		return nil
	})
}

// eager is what /slow says at once.
const eager = "working"

// withoutEager leaves out the eager sends, which repeat a text.
func withoutEager(calls []check.Call) []check.Call {
	return slices.DeleteFunc(calls, func(c check.Call) bool { return c.Text == eager })
}

// longTurns are chats that say /slow one time after the other.
type longTurns struct {
	s     *scene
	chats []int64
	group sync.WaitGroup
	ended chan struct{}

	mu    sync.Mutex
	asked map[int64]int // how many /slow each chat has said
	hit   map[int64]int // the one that was last killed, so that none dies twice
}

func newLongTurns(s *scene, n int) *longTurns {
	l := &longTurns{s: s, ended: make(chan struct{}), asked: map[int64]int{}, hit: map[int64]int{}}
	for i := range n {
		l.chats = append(l.chats, int64(10+i))
	}
	return l
}

// long is how many seconds a chat's n-th /slow takes, each a number of its own.
func long(n int) string { return fmt.Sprintf("0.%03d", 700+n) }

func (l *longTurns) start(ctx context.Context) {
	for _, chat := range l.chats {
		l.group.Go(func() {
			for n := 1; ; n++ {
				select {
				case <-l.ended:
					return
				default:
				}
				l.mu.Lock()
				l.asked[chat] = n
				l.mu.Unlock()
				if err := l.s.Say(ctx, l.s.URLs(), chat, "/slow "+long(n)); err != nil {
					return
				}
				if err := l.s.AwaitText(ctx, chat, "done after "+long(n)+"s"); err != nil {
					return
				}
			}
		})
	}
}

// holder finds a worker that says it is running one of the long turns, and one
// that was not killed before: a record that kills its process again and again is
// set aside, and rightly so.
func (l *longTurns) holder(ctx context.Context) *fleet.Replica {
	give, cancel := context.WithTimeout(ctx, 900*time.Millisecond)
	defer cancel()
	for {
		for _, w := range l.s.Workers {
			if status, err := w.Status(give); err == nil && l.fresh(status) {
				return w
			}
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-give.Done():
			return nil
		}
	}
}

// fresh reports whether a worker runs long turns, none of which was killed before.
func (l *longTurns) fresh(status fleet.Status) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	any := false
	for _, lane := range status.Lanes {
		chat, err := strconv.ParseInt(strings.TrimPrefix(lane.Chat, "telegram/"), 10, 64)
		if err != nil || !slices.Contains(l.chats, chat) || lane.Phase != "running" {
			continue
		}
		if l.hit[chat] == l.asked[chat] {
			return false
		}
		any = true
	}
	return any
}

// interrupted reports whether a process that was just killed had begun a long turn
// and not ended it, as the platform saw it: it had said that it works, and not
// that it is done.
func (l *longTurns) interrupted(process string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	any := false
	for _, chat := range l.chats {
		by := ""
		for _, c := range l.s.Calls() {
			if c.Chat == strconv.FormatInt(chat, 10) {
				by = ""
				if c.Text == eager {
					by = c.By
				}
			}
		}
		if by == process {
			l.hit[chat] = l.asked[chat]
			any = true
		}
	}
	return any
}

// stop waits for the turns that were asked for and returns what the chats are to
// have got but the eager sends.
func (l *longTurns) stop(ctx context.Context) map[string][]string {
	close(l.ended)
	l.group.Wait()
	want := map[string][]string{}
	for _, chat := range l.chats {
		var texts []string
		for n := range l.asked[chat] {
			texts = append(texts, "done after "+long(n+1)+"s")
		}
		want[strconv.FormatInt(chat, 10)] = texts
	}
	return want
}

// SPEC: H2 H3 H8 J6 O7
func TestConversationGoesOnAfterItsWorkerIsKilledBetweenQuestions(t *testing.T) {
	t.Parallel()
	s := started(t, nil)
	const chat = 1
	answers := []string{"/order", "pizza", "2", "yes"}
	var questions []string
	for i, text := range answers {
		s.say(chat, text)
		seen := len(questions)
		if err := s.Await(s.within(30*time.Second), chat, func(texts []string) bool {
			return len(distinct(texts)) > seen
		}); err != nil {
			t.Fatalf("after %q: %v", text, err)
		}
		questions = distinct(s.Texts(chat))
		if i < len(answers)-1 {
			victim := s.lastCaller(chat)
			s.Kill(t.Context(), victim)
			if err := victim.Launch(); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.verify(map[string][]string{"1": questions})
	if got, want := questions[len(questions)-1], "ordered: 2 x pizza"; got != want || len(questions) != 4 {
		t.Errorf("got %q, want three questions and %q", questions, want)
	}
}

func distinct(texts []string) []string {
	var out []string
	for _, text := range texts {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// lastCaller is the worker that last called the platform for a chat, running again
// if it was killed before.
func (s *scene) lastCaller(chat int64) *fleet.Replica {
	s.t.Helper()
	by := ""
	for _, c := range s.Calls() {
		if c.Chat == strconv.FormatInt(chat, 10) {
			by = c.By
		}
	}
	i := slices.IndexFunc(s.Workers, func(r *fleet.Replica) bool { return r.Process() == by })
	if i < 0 {
		s.t.Fatalf("no worker is %q", by)
	}
	return s.Workers[i]
}
