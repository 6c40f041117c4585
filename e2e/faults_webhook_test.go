package e2e

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"
)

// A message's id was marked as seen before the message was safe, so that when the
// rest failed its repetition counted as a duplicate and was dropped. Here the
// journal is away when the message first comes, and then a turn is in the way, whose
// worker dies.
//
// FAULT: 8 https://github.com/getsentry/junior/issues/33
// SPEC: J1 J2 J6
func TestAWebhookThatCameToNothingIsNoDuplicateWhenItComesAgain(t *testing.T) {
	t.Parallel()
	s := started(t, quick)
	ctx := s.within(time.Minute)
	refused := s.Message(1, "/count")
	s.KillNATS()
	for _, r := range s.Ingress {
		if a, err := s.Post(ctx, r.URL, refused); err != nil || a.Status != http.StatusServiceUnavailable {
			t.Fatalf("got %d (%v) without a journal, want 503", a.Status, err)
		}
	}
	if err := s.NATS.Start(ctx); err != nil {
		t.Fatal(err)
	}
	for range 3 { // the first of them is taken, the others are duplicates
		if err := s.Deliver(ctx, s.URLs(), refused); err != nil {
			t.Fatal(err)
		}
	}
	s.hears(1, "count: 1", 30*time.Second)

	s.say(2, "/slow 2")
	s.hears(2, eager, 20*time.Second)
	behind := s.Message(2, "/count")
	if err := s.Deliver(ctx, s.URLs(), behind); err != nil {
		t.Fatal(err)
	}
	s.Kill(ctx, s.lastCaller(2))
	if err := s.Deliver(ctx, s.URLs(), behind); err != nil {
		t.Fatal(err)
	}
	s.hears(2, "count: 1", 30*time.Second)
	s.verify(map[string][]string{"1": {"count: 1"}, "2": {eager, "done after 2s", "count: 1"}})
}

// A webhook is to be answered within seconds. Who answers after the work gets it
// twice, who answers before loses it with the process. Here the journal stands still
// for longer than any platform waits: what is not stored is refused in time, and
// what comes again is the same record, also if the first one was stored after all.
//
// FAULT: 13 https://github.com/slackapi/bolt-python/issues/1027
// SPEC: J1 J2 J3
func TestWebhooksAreRefusedInTimeWhileTheJournalStandsStill(t *testing.T) { // alone: it loads the machine
	s := started(t, nil)
	ctx := s.within(time.Minute)
	steady := load{chats: 32, messages: 20, pause: 150 * time.Millisecond}.begin(ctx, s)
	if err := s.Await(ctx, firstChat, func(texts []string) bool { return len(texts) >= 5 }); err != nil {
		t.Fatal(err)
	}
	frozen := s.Now()
	s.NATS.Child().Freeze()
	late := s.Message(1, "/count")
	s.eventually(10*time.Second, "the journal stands still", func(ctx context.Context) error {
		a, err := s.Post(ctx, s.Ingress[0].URL, late)
		if err == nil && a.Taken() {
			err = errors.New("it took a message")
		}
		return err
	})
	for n := 0; n < 2 || s.Now()-frozen < 5*time.Second; n++ {
		for _, r := range s.Ingress {
			a, err := s.Post(ctx, r.URL, late)
			if err != nil {
				t.Fatal(err)
			}
			if a.Status != http.StatusServiceUnavailable || a.RetryAfter == "" || a.Took > 3*time.Second {
				t.Errorf("got %d with Retry-After %q after %v, want 503 with one within 1.5 s", a.Status, a.RetryAfter, a.Took)
			}
		}
	}
	s.NATS.Child().Thaw()
	if err := s.Deliver(ctx, s.URLs(), late); err != nil {
		t.Fatal(err)
	}
	want, err := steady.end()
	if err != nil {
		t.Fatal(err)
	}
	want["1"] = []string{"count: 1"}
	s.hears(1, "count: 1", 30*time.Second)
	s.verify(want)
	posted := 0
	for _, texts := range want {
		posted += len(texts)
	}
	if got := s.stored(inbox); got != uint64(posted) {
		t.Errorf("got %d records of %d messages, want one each", got, posted)
	}
}
