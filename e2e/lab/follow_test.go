package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh/e2e/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorded is a follower and what writes the history of a process it follows.
func recorded(t *testing.T, process string) (*follower, *history.Log, string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, process+history.Suffix)
	log, err := history.Open(path, process)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return newFollower(dir), log, path
}

func grant(chat string) history.Event {
	return history.Event{Kind: history.Take, Phase: history.Ended, Outcome: history.Granted, Chat: chat}
}

func TestFollowerKnowsWhoHoldsWhat(t *testing.T) {
	t.Parallel()
	f, log, _ := recorded(t, "worker1.1")
	check := func(what string, want ...string) {
		t.Helper()
		f.poll()
		got := f.held("worker1.1")
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v held, want %v", what, got, want)
		}
	}
	log.Note(grant("a"))
	log.Note(grant("b"))
	log.Note(grant("c"))
	check("granted", "a", "b", "c")
	if got := f.holder("b"); got != "worker1.1" {
		t.Errorf("got %q as holder, want worker1.1", got)
	}
	log.Begin(history.Event{Kind: history.Release, Chat: "a"})
	check("released", "b", "c")
	log.Note(history.Event{Kind: history.Lost, Chat: "b"})
	check("lost", "c")
	log.Note(history.Event{Kind: history.Exited, Target: "worker1.1"})
	check("dead")
	if err := f.failed(); err != nil {
		t.Error(err)
	}
}

// A turn that was granted again is held, though the release of the one before is
// noted twice: as it begins and when it ended.
func TestFollowerTakesTheBeginOfAReleaseForItsEnd(t *testing.T) {
	t.Parallel()
	f, log, _ := recorded(t, "worker1.1")
	log.Note(grant("a"))
	n := log.Begin(history.Event{Kind: history.Release, Chat: "a"})
	log.Note(grant("a"))
	log.End(n, history.Event{Kind: history.Release, Chat: "a"})
	f.poll()
	if got := f.held("worker1.1"); len(got) != 1 {
		t.Errorf("got %v held, want a", got)
	}
}

// A turn has one holder, the last it was granted to, whichever history is read first.
func TestFollowerTakesATurnFromWhoHadIt(t *testing.T) {
	t.Parallel()
	for _, names := range [][2]string{{"worker1.1", "worker2.1"}, {"worker2.1", "worker1.1"}} {
		first, last := names[0], names[1]
		f, log, path := recorded(t, first)
		other, err := history.Open(filepath.Join(filepath.Dir(path), last+history.Suffix), last)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		log.Note(grant("a"))
		other.Note(grant("a"))
		f.poll()
		if got := f.held(first); len(got) != 0 {
			t.Errorf("got %v held by %s, which %s has", got, first, last)
		}
		if got := f.holder("a"); got != last {
			t.Errorf("got %q as holder, want %s", got, last)
		}
	}
}

// A line may be seen before it is whole; it counts once, when it is.
func TestFollowerWaitsForWholeLines(t *testing.T) {
	t.Parallel()
	f, log, path := recorded(t, "worker1.1")
	log.Note(history.Event{Kind: history.Stall, Took: time.Second})
	line, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	stalls := func() int { return f.count(0, func(e history.Event) bool { return e.Kind == history.Stall }) }
	for i, part := range [][]byte{line[:10], line[10 : len(line)-1], line[len(line)-1:]} {
		f.poll()
		f.poll()
		if got := stalls(); got != 1 {
			t.Errorf("part %d: got %d, want 1", i, got)
		}
		file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write(part); err != nil {
			t.Fatal(err)
		}
		file.Close()
	}
	f.poll()
	if got := stalls(); got != 2 {
		t.Errorf("got %d, want 2", got)
	}
	if err := f.failed(); err != nil {
		t.Error(err)
	}
}

// What was answered before Redis stood still, and read late, was not granted meanwhile.
func TestFollowerTellsWhichTurnsWereAskedForInVain(t *testing.T) {
	t.Parallel()
	f, log, path := recorded(t, "worker1.1")
	dead, err := history.Open(path, "worker2.1")
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	dead.Begin(history.Event{Kind: history.Take, Chat: "b"})
	ask := func() uint64 { return log.Begin(history.Event{Kind: history.Take, Chat: "a"}) }
	answer := func(n uint64) { log.End(n, history.Event{Kind: history.Take, Chat: "a", Outcome: history.Granted}) }
	answer(ask())
	early := ask()
	log.Note(history.Event{Kind: history.Exited, Target: "worker2.1"})
	from := history.Now()
	answer(early)
	waits := ask()
	to := history.Now()
	answer(waits)
	f.poll()
	if asked, got := f.turns(from, to); asked != 2 || got != 0 {
		t.Errorf("got %d asked for and %d granted, want 2 and none", asked, got)
	}
	if asked, got := f.turns(from, history.Now()); asked != 2 || got != 1 {
		t.Errorf("got %d asked for and %d granted, want 2 and one", asked, got)
	}
}

func TestFollowerCountsFromAMomentOn(t *testing.T) {
	t.Parallel()
	f, log, _ := recorded(t, "lab")
	failed := history.Event{Kind: history.Webhook, Phase: history.Ended, Target: "ingress1.1", Status: 503}
	log.Note(failed)
	at := history.Now()
	log.Note(failed)
	log.Note(history.Event{Kind: history.Webhook, Phase: history.Ended, Target: "ingress1.1", Status: 200})
	log.Note(history.Event{Kind: history.Webhook, Phase: history.Ended, Target: "ingress2.1"})
	f.poll()
	if got := f.await(t.Context(), time.Second, at, unheard("ingress1.1")); got != 1 {
		t.Errorf("got %d webhooks that ingress1.1 did not take, want 1", got)
	}
	if got := f.count(0, unheard("")); got != 3 {
		t.Errorf("got %d webhooks not taken, want 3", got)
	}
}
