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
