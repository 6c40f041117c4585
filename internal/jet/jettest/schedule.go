package jettest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// arm schedules a message named after its subject.
func arm(t testing.TB, s jet.Stream, prefix, subject string, at time.Time) {
	t.Helper()
	_, err := s.Publish(t.Context(), jet.Publish{
		Msg:      jet.Msg{Subject: prefix + "timer." + subject, Header: nats.Header{"Bot-Timer": {subject}}, Data: []byte("of " + subject)},
		Schedule: &jet.Schedule{At: at, Target: prefix + "fired"},
	})
	if err != nil {
		t.Fatalf("schedule: %v", err)
	}
}

// fired waits until n messages were published by schedules, and returns all.
func fired(t testing.TB, s jet.Stream, prefix string, n int) (all []jet.Stored) {
	t.Helper()
	until(t, "the schedules to fire", func() bool {
		var err error
		all, err = s.Range(t.Context(), prefix+"fired", 1, 100)
		return err == nil && len(all) >= n
	})
	return all
}

func schedules(t *testing.T, b *bench) {
	at := time.Now().Add(400 * time.Millisecond)
	arm(t, b, b.prefix, "past", time.Now().Add(-time.Hour))
	arm(t, b, b.prefix, "twice", at.Add(-300*time.Millisecond))
	arm(t, b, b.prefix, "twice", at) // in place of the first
	arm(t, b, b.prefix, "last", at.Add(time.Second))
	var got []string
	for _, m := range fired(t, b, b.prefix, 3) {
		name := m.Header.Get("Bot-Timer")
		got = append(got, name)
		if diff := cmp.Diff("of "+name, string(m.Data)); diff != "" {
			t.Errorf("data (-want +got):\n%s", diff)
		}
		if name == "twice" && m.Time.Before(at) {
			t.Errorf("fired %v too early", at.Sub(m.Time))
		}
		if id := m.Header.Get(nats.MsgIdHdr); id != "" {
			t.Errorf("got message id %q, want none", id)
		}
		if _, err := b.Last(t.Context(), b.prefix+"timer."+name); !errors.Is(err, botmesh.ErrNotFound) {
			t.Errorf("the schedule after it fired: got %v, want it gone", err)
		}
	}
	if diff := cmp.Diff([]string{"past", "twice", "last"}, got); diff != "" {
		t.Errorf("fired (-want +got):\n%s", diff)
	}
}

func purgedSchedules(t *testing.T, b *bench) {
	if err := b.Purge(t.Context(), b.prefix+"timer.none"); err != nil {
		t.Errorf("purge of what is not there: got %v, want no error", err)
	}
	name := "T" + nuid.Next()
	s := b.New(t, jetstream.StreamConfig{
		Name: name, Subjects: []string{name + ".>"}, MaxAge: time.Second, AllowMsgTTL: true, AllowRollup: true, AllowMsgSchedules: true,
	})
	prefix := name + "."
	at := time.Now().Add(2 * time.Second)
	arm(t, s, prefix, "purged", at.Add(-time.Second))
	arm(t, s, prefix, "old", at) // outlives the stream's age limit
	if err := s.Purge(t.Context(), prefix+"timer.purged"); err != nil {
		t.Fatal(err)
	}
	if all := fired(t, s, prefix, 1); len(all) != 1 || all[0].Header.Get("Bot-Timer") != "old" {
		t.Errorf("got %+v, want only the one that was not purged", all)
	}
}
