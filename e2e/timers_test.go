package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh/e2e/fleet"
)

// nappers is how many chats take a nap at once, late how late the last of them may be woken
// on a machine that is loaded. What was measured is in the log.
const (
	nappers = 20
	late    = 5 * time.Second
)

// A timer fires once, in time, though the worker that armed it is killed and the record that
// did so is older than the journal keeps any; and at the start of the first worker, if none
// lived when it was due.
//
// SPEC: H12 S2 DESIGN N7 C10 HOLE H11
func TestTimersOutliveTheirWorkers(t *testing.T) {
	t.Parallel()
	s := talking(t, nil)
	first, second := s.Workers[0], s.Workers[1]
	str := s.journal()
	full := str.CachedInfo().Config

	posted := s.naps(1)
	if err := second.Start(s.within(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	s.Kill(t.Context(), first)
	brief := full
	brief.MaxAge, brief.Duplicates = time.Second, time.Second
	s.resize(brief)
	s.eventually(20*time.Second, "the journal keeps the timers alone", func(ctx context.Context) error {
		return keeps(ctx, str, 0, nappers)
	})
	var lateness []time.Duration
	for chat, at := range posted {
		woken := s.woken(chat, second)
		if woken < at+patience {
			t.Errorf("chat %d was woken %v after it asked, want it after %v", chat, woken-at, patience)
		}
		lateness = append(lateness, woken-at-patience)
	}
	s.inTime("after they were due, at most", lateness)

	s.resize(full)
	posted = s.naps(1 + nappers)
	s.Kill(t.Context(), second)
	s.eventually(20*time.Second, "all are due", func(ctx context.Context) error { return keeps(ctx, str, -1, 0) })
	launched := s.Now()
	if err := first.Start(s.within(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	lateness = nil
	for chat := range posted {
		lateness = append(lateness, s.woken(chat, first)-launched)
	}
	s.inTime("after the start of a process", lateness)
	s.Workers = s.Workers[:1]
	want := map[string][]string{}
	for n := range 2 * nappers {
		by := second
		if n >= nappers {
			by = first
		}
		want[strconv.Itoa(n+1)] = []string{"good night", "woken by " + by.Name}
	}
	s.verify(want)
}

// A worker that starts leaves the timers alone that the journal holds: it writes none of
// them again.
//
// SPEC: H12
func TestManyTimersCostNothingAtAStart(t *testing.T) {
	t.Parallel()
	s := talking(t, nil)
	w, str := s.Workers[0], s.journal()
	const chats, each = 100, 50
	began := time.Now()
	for n := range chats {
		s.say(int64(n+1), "/naps "+strconv.Itoa(each))
	}
	for n := range chats {
		s.hears(int64(n+1), "good day", 60*time.Second)
	}
	s.idle(20 * time.Second)
	armed := time.Since(began)
	if err := keeps(t.Context(), str, -1, chats*each); err != nil {
		t.Fatal(err)
	}
	written := s.journal().CachedInfo().State.LastSeq
	s.Kill(t.Context(), w)
	began = time.Now()
	if err := w.Start(s.within(60 * time.Second)); err != nil {
		t.Fatal(err)
	}
	ready := time.Since(began)
	s.say(chats+1, "/hello")
	s.hears(chats+1, "hello", 20*time.Second)
	s.idle(20 * time.Second)
	if got := s.journal().CachedInfo().State.LastSeq - written; got != 1 {
		t.Errorf("got %d writes to the journal from the start of a worker on, want that of one message", got)
	}
	if err := keeps(t.Context(), str, -1, chats*each); err != nil {
		t.Error(err)
	}
	worker, err := w.Child().Usage()
	if err != nil {
		t.Skip(err)
	}
	server, err := s.NATS.Child().Usage()
	if err != nil {
		t.Skip(err)
	}
	t.Logf("%d timers: armed in %v; a worker was ready %v after its start, with none written again; peak memory of the worker %d MiB, of NATS %d MiB",
		chats*each, armed.Round(time.Millisecond), ready.Round(time.Millisecond), worker.Peak>>20, server.Peak>>20)
}

// naps has chats from one on take a nap, and returns when each asked for it.
func (s *scene) naps(from int64) map[int64]time.Duration {
	s.t.Helper()
	posted := map[int64]time.Duration{}
	for chat := from; chat < from+nappers; chat++ {
		posted[chat] = s.Now()
		s.say(chat, "/nap")
	}
	for chat := range posted {
		s.hears(chat, "good night", 20*time.Second)
	}
	return posted
}

// woken is when a worker woke a chat.
func (s *scene) woken(chat int64, by *fleet.Replica) time.Duration {
	s.t.Helper()
	text := "woken by " + by.Name
	s.hears(chat, text, 40*time.Second)
	for _, c := range s.callsOf(chat) {
		if c.Text == text {
			return c.At
		}
	}
	s.t.Fatalf("chat %d has no call of %q", chat, text)
	return 0
}

// inTime tells how late timers fired, and fails if any was too late.
func (s *scene) inTime(what string, lateness []time.Duration) {
	s.t.Helper()
	slices.Sort(lateness)
	p50, most := lateness[len(lateness)/2], lateness[len(lateness)-1]
	s.t.Logf("%d timers fired %s: p50 %v, max %v", len(lateness), what, p50.Round(time.Millisecond), most.Round(time.Millisecond))
	if most > late {
		s.t.Errorf("got a timer that fired %v %s, want none after %v", most, what, late)
	}
}

// journal is the bot's inbox as it is now.
func (s *scene) journal() jetstream.Stream {
	s.t.Helper()
	str, err := s.jetStream().Stream(s.t.Context(), inbox)
	if err != nil {
		s.t.Fatal(err)
	}
	return str
}

// resize changes how the inbox is kept.
func (s *scene) resize(cfg jetstream.StreamConfig) {
	s.t.Helper()
	if _, err := s.jetStream().UpdateStream(s.t.Context(), cfg); err != nil {
		s.t.Fatal(err)
	}
}

// keeps gives no error if the inbox holds that many records, if not negative, and timers.
func keeps(ctx context.Context, str jetstream.Stream, records, timers int) error {
	info, err := str.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return err
	}
	gotRecords, gotTimers := 0, 0
	for subject, n := range info.State.Subjects {
		if strings.HasPrefix(subject, "bot.timer.") {
			gotTimers += int(n)
		} else {
			gotRecords += int(n)
		}
	}
	if gotTimers != timers || records >= 0 && gotRecords != records {
		return fmt.Errorf("it holds %d records and %d timers, want %d and %d", gotRecords, gotTimers, records, timers)
	}
	return nil
}
