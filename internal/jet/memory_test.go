package jet_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

func TestMemoryKeepsVirtualTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := jet.NewMemory()
		defer m.Close()
		s := m.Stream("S", jet.MemoryConfig{Duplicates: time.Minute})
		msg := jet.Publish{Msg: jet.Msg{Subject: "a.1", Header: nats.Header{nats.MsgIdHdr: {"x"}}}}
		for _, want := range []jet.Ack{{Seq: 1}, {Seq: 1, Duplicate: true}} {
			if got, err := s.Publish(t.Context(), msg); err != nil || got != want {
				t.Fatalf("got %+v, %v, want %+v", got, err, want)
			}
		}
		time.Sleep(time.Minute)
		if got, err := s.Publish(t.Context(), msg); err != nil || got.Seq != 2 || got.Duplicate {
			t.Fatalf("past the window: got %+v, %v, want a new message", got, err)
		}
		msg.Header, msg.Expect, msg.TTL = nil, new(uint64), 1500*time.Millisecond
		if _, err := s.Publish(t.Context(), msg); !errors.Is(err, botmesh.ErrConflict) {
			t.Fatalf("got %v, want ErrConflict", err)
		}
		msg.Subject = "a.2"
		if _, err := s.Publish(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if _, err := s.Last(t.Context(), "a.2"); !errors.Is(err, botmesh.ErrNotFound) {
			t.Errorf("past its time to live: got %v, want ErrNotFound", err)
		}

		c, err := s.Consumer(t.Context(), jet.ConsumerConfig{Name: "c", Subject: "a.>", AckWait: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		var seen []uint64
		pull := func() {
			if err := c.Pull(t.Context(), 3, 10*time.Second, func(d jet.Delivery) {
				seen = append(seen, d.Seq*10+d.Delivered)
				if d.Delivered == 2 {
					d.Ack()
				}
			}); err != nil {
				t.Fatal(err)
			}
		}
		begin := time.Now()
		pull()
		if took := time.Since(begin); took != time.Second || len(seen) != 3 || seen[2] != 12 {
			t.Errorf("got %v after %v, want 1, 2, then 1 again after the acknowledgement wait", seen, took)
		}
		if floor, err := c.Floor(t.Context()); err != nil || floor != 1 {
			t.Errorf("floor: got %d, %v, want 1", floor, err)
		}
	})
}

// A stream that keeps one message of a subject forgets the others, and finds what
// is left among many that are gone.
func TestMemoryForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := jet.NewMemory()
		defer m.Close()
		s := m.Stream("S", jet.MemoryConfig{MaxPerSubject: 1, MaxAge: time.Hour})
		publish := func(subject string) uint64 {
			ack, err := s.Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: subject}})
			if err != nil {
				t.Fatal(err)
			}
			return ack.Seq
		}
		old := publish("old")
		time.Sleep(30 * time.Minute)
		var last uint64
		for range 500 {
			last = publish("busy")
		}
		for subject, want := range map[string]uint64{"old": old, "busy": last} {
			if got, err := s.Next(t.Context(), subject, 0); err != nil || got.Seq != want {
				t.Errorf("%s: got %d, %v, want %d", subject, got.Seq, err, want)
			}
			if got, err := s.Get(t.Context(), want); err != nil || got.Subject != subject {
				t.Errorf("%s: got %q, %v", subject, got.Subject, err)
			}
		}
		if of, err := s.Range(t.Context(), ">", 0, 1000); err != nil || len(of) != 2 {
			t.Errorf("got %d messages, %v, want 2", len(of), err)
		}
		time.Sleep(30 * time.Minute)
		if of, err := s.Range(t.Context(), ">", 0, 1000); err != nil || len(of) != 1 || of[0].Seq != last {
			t.Errorf("an hour after the first: got %d messages, %v, want the last alone", len(of), err)
		}
		if got := publish("old"); got != last+1 {
			t.Errorf("got sequence %d, want %d", got, last+1)
		}
		m.Close()
		if _, err := s.Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: "x"}}); !errors.Is(err, jet.ErrClosed) || !errors.Is(err, botmesh.ErrRefused) {
			t.Errorf("closed: got %v, want ErrClosed, which is refused", err)
		}
	})
}

// A consumer that pulls ends when the server is closed, and finds a new stream in
// the place of one that was deleted only by a new handle.
func TestMemoryCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := jet.NewMemory()
		s := m.Stream("S", jet.MemoryConfig{})
		if _, err := s.Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: "x"}}); err != nil {
			t.Fatal(err)
		}
		m.Delete("S")
		if info, err := m.Stream("S", jet.MemoryConfig{}).Info(t.Context()); err != nil || info.LastSeq != 0 {
			t.Errorf("a stream made anew: got %+v, %v, want it to be empty", info, err)
		}
		c, err := m.Stream("S", jet.MemoryConfig{}).Consumer(t.Context(), jet.ConsumerConfig{Name: "c"})
		if err != nil {
			t.Fatal(err)
		}
		pulled := make(chan error, 1)
		go func() { pulled <- c.Pull(t.Context(), 1, time.Hour, func(jet.Delivery) {}) }()
		synctest.Wait()
		m.Close()
		if err := <-pulled; !errors.Is(err, botmesh.ErrRefused) {
			t.Errorf("pull: got %v, want ErrRefused", err)
		}
	})
}
