package jettest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// long is an acknowledgement wait that no test outlasts.
const long = time.Minute

func (b *bench) consumer(t testing.TB, cfg jet.ConsumerConfig) jet.Consumer {
	t.Helper()
	cfg.Name = "c"
	if cfg.Subject == "" {
		cfg.Subject = b.prefix + ">"
	}
	c, err := b.Consumer(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// pull pulls n messages, for half a minute at most, again while the consumer can not be
// reached, and lets do mark each.
func pull(t testing.TB, c jet.Consumer, n int, do func(jet.Delivery)) []jet.Delivery {
	t.Helper()
	var got []jet.Delivery
	for deadline := time.Now().Add(30 * time.Second); len(got) < n; {
		err := c.Pull(t.Context(), n-len(got), 500*time.Millisecond, func(d jet.Delivery) {
			got = append(got, d)
			if do != nil {
				do(d)
			}
		})
		if err != nil && !errors.Is(err, botmesh.ErrRefused) {
			t.Fatalf("pull: %v", err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %d messages (%v), want %d", len(got), err, n)
		}
	}
	return got
}

// nothing fails if a message comes within a short time.
func nothing(t testing.TB, c jet.Consumer) {
	t.Helper()
	if err := c.Pull(t.Context(), 1, 300*time.Millisecond, func(d jet.Delivery) {
		t.Errorf("got message %d, delivery %d, want none", d.Seq, d.Delivered)
	}); err != nil {
		t.Fatalf("pull: %v", err)
	}
}

func ack(d jet.Delivery) { _ = d.Ack() }

func seqs(of []jet.Delivery) []uint64 {
	var s []uint64
	for _, d := range of {
		s = append(s, d.Seq)
	}
	return s
}

func handsOut(t *testing.T, b *bench) {
	header := nats.Header{"Bot-Type": {"message"}}
	var want []uint64
	for i := range 20 {
		a, err := b.Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: b.prefix + "c." + strconv.Itoa(i%3), Header: header, Data: []byte(strconv.Itoa(i))}})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, a.Seq)
	}
	c := b.consumer(t, jet.ConsumerConfig{AckWait: long})
	got := pull(t, c, len(want), ack)
	if diff := cmp.Diff(want, seqs(got)); diff != "" {
		t.Errorf("sequences: %s", diff)
	}
	wantMsg := jet.Msg{Subject: b.prefix + "c.2", Header: header, Data: []byte("5")}
	if diff := cmp.Diff(wantMsg, got[5].Msg); diff != "" || got[5].Delivered != 1 || time.Since(got[5].Time).Abs() > time.Minute {
		t.Errorf("delivery %d at %v: %s", got[5].Delivered, got[5].Time, diff)
	}
	nothing(t, c)
	wantFloor(t, c, want[19])
	b.publish(t, "a", "")
	b.publish(t, "a", "")
	pull(t, c, 1, nil)
	until(t, "the counts", func() bool {
		waiting, unacknowledged, err := c.Pending(t.Context())
		return err == nil && waiting == 1 && unacknowledged == 1
	})
	wantFloor(t, c, want[19])
}

func wantFloor(t *testing.T, c jet.Consumer, want uint64) {
	t.Helper()
	until(t, "the floor to be "+strconv.FormatUint(want, 10), func() bool {
		floor, err := c.Floor(t.Context())
		return err == nil && floor == want
	})
}

func filters(t *testing.T, b *bench) {
	b.publish(t, "a", "1")
	if _, err := b.Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: b.prefix + "b", Header: nats.Header{"X": {"y"}}, Data: []byte("2")}}); err != nil {
		t.Fatal(err)
	}
	c := b.consumer(t, jet.ConsumerConfig{Subject: b.prefix + "b", HeadersOnly: true, AckWait: long})
	got := pull(t, c, 1, ack)[0]
	if got.Subject != b.prefix+"b" || len(got.Data) > 0 || got.Header.Get("X") != "y" {
		t.Errorf("got %+v, want the headers of the second message without its body", got.Msg)
	}
	nothing(t, c)
}

func startSeq(t *testing.T, b *bench) {
	b.publish(t, "a", "")
	second := b.publish(t, "a", "")
	c := b.consumer(t, jet.ConsumerConfig{StartSeq: second, AckWait: long})
	if floor, err := c.Floor(t.Context()); err != nil || floor != second-1 {
		t.Errorf("floor: got %d, %v, want %d", floor, err, second-1)
	}
	if got := pull(t, c, 1, ack); got[0].Seq != second {
		t.Errorf("got %d, want %d", got[0].Seq, second)
	}
	// One that exists goes on where it was, whatever StartSeq a later replica gives.
	nothing(t, b.consumer(t, jet.ConsumerConfig{AckWait: long}))
}

// HOLE H6. A consumer is not made on another stream of the same name.
func anotherStream(t *testing.T, b *bench) {
	cfg := jet.ConsumerConfig{Name: "c", Subject: b.prefix + ">", Metadata: map[string]string{"botmesh.epoch": "e0"}}
	if _, err := b.Consumer(t.Context(), cfg); !errors.Is(err, botmesh.ErrRefused) {
		t.Errorf("for epoch e0: got %v, want ErrRefused", err)
	}
	cfg.Metadata["botmesh.epoch"] = "e1"
	if _, err := b.Consumer(t.Context(), cfg); err != nil {
		t.Errorf("for epoch e1: got %v", err)
	}
}

// SPEC: J6
func comesAgain(t *testing.T, b *bench) {
	const wait = time.Second
	first, second := b.publish(t, "a", ""), b.publish(t, "a", "")
	dead := b.consumer(t, jet.ConsumerConfig{AckWait: wait})
	pull(t, dead, 2, func(d jet.Delivery) {
		if d.Seq == second {
			_ = d.Ack()
		}
	})
	began := time.Now()
	heir, err := b.Again(t, b.Name()).Consumer(t.Context(), jet.ConsumerConfig{Name: "c", Subject: b.prefix + ">", AckWait: wait})
	if err != nil {
		t.Fatal(err)
	}
	got := pull(t, heir, 1, ack)[0]
	if got.Seq != first || got.Delivered != 2 {
		t.Errorf("got message %d, delivery %d, want %d for the second time", got.Seq, got.Delivered, first)
	}
	if took := time.Since(began); took < wait/2 {
		t.Errorf("it came again after %v, want the acknowledgement wait of %v", took, wait)
	}
	wantFloor(t, heir, second)
}

// DESIGN N1
func marks(t *testing.T, b *bench) {
	const wait = 2 * time.Second
	naked, put, kept := b.publish(t, "a", ""), b.publish(t, "a", ""), b.publish(t, "a", "")
	c := b.consumer(t, jet.ConsumerConfig{AckWait: wait})
	began := time.Now()
	held := pull(t, c, 3, nil)
	_ = held[0].Nak(0)
	_ = held[1].Nak(time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.NewTicker(wait / 4); ; {
			select {
			case <-tick.C:
				_ = held[2].Progress()
			case <-ctx.Done():
				tick.Stop()
				return
			}
		}
	}()
	if got := pull(t, c, 1, ack)[0]; got.Seq != naked || time.Since(began) > wait {
		t.Errorf("got %d after %v, want %d at once", got.Seq, time.Since(began), naked)
	}
	if got := pull(t, c, 1, ack)[0]; got.Seq != put || time.Since(began) < time.Second {
		t.Errorf("got %d after %v, want %d after its delay", got.Seq, time.Since(began), put)
	}
	// Kept in progress, the third does not come for twice its wait.
	for time.Since(began) < 2*wait {
		nothing(t, c)
	}
	cancel()
	<-done
	if got := pull(t, c, 1, ack)[0]; got.Seq != kept {
		t.Errorf("got %d, want %d when it was no more in progress", got.Seq, kept)
	}
}

// DESIGN N1. An old delivery's acknowledgement settles the message, even while it
// is out for a second time.
func lateAck(t *testing.T, b *bench) {
	seq := b.publish(t, "a", "")
	c := b.consumer(t, jet.ConsumerConfig{AckWait: time.Second})
	old := pull(t, c, 1, nil)[0]
	pull(t, c, 1, nil)
	_ = old.Ack()
	wantFloor(t, c, seq)
	_ = old.Ack() // once more is no harm
	for began := time.Now(); time.Since(began) < 1500*time.Millisecond; {
		nothing(t, c)
	}
}

// What one replica did not ask for is there for the other at once.
func noSurplus(t *testing.T, b *bench) {
	a := b.consumer(t, jet.ConsumerConfig{AckWait: long})
	// A pull that was left takes nothing with it.
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := a.Pull(ctx, 10, long, func(d jet.Delivery) { t.Errorf("got message %d, want none", d.Seq) }); err != nil {
		t.Fatal(err)
	}
	var want []uint64
	for range 10 {
		want = append(want, b.publish(t, "a", ""))
	}
	other, err := b.Again(t, b.Name()).Consumer(t.Context(), jet.ConsumerConfig{Name: "c", Subject: b.prefix + ">", AckWait: long})
	if err != nil {
		t.Fatal(err)
	}
	var got []uint64
	for _, d := range pull(t, a, 1, ack) {
		got = append(got, d.Seq)
	}
	for range 3 { // a pull that is used again is as exact
		got = append(got, seqs(pull(t, a, 2, ack))...)
	}
	got = append(got, seqs(pull(t, other, 3, ack))...)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("both together: %s", diff)
	}
}

// SPEC: J6. What was on its way to a replica that stopped is there for the next at once.
func pullEnds(t *testing.T, b *bench) {
	c := b.consumer(t, jet.ConsumerConfig{AckWait: long})
	var want, got []uint64
	for range 4 {
		for range 5 {
			want = append(want, b.publish(t, "a", ""))
		}
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		if err := c.Pull(ctx, 10, long, func(d jet.Delivery) {
			seen++
			got = append(got, d.Seq)
			_ = d.Ack()
			cancel()
		}); err != nil {
			t.Errorf("got %v, want no error when the context ends", err)
		}
		if seen != 1 {
			t.Errorf("got %d messages, want none after the context ended", seen)
		}
		if err := c.Pull(ctx, 5, long, func(d jet.Delivery) { t.Errorf("got message %d after the end", d.Seq) }); err != nil {
			t.Errorf("got %v, want no error when the context ended before", err)
		}
		got = append(got, seqs(pull(t, c, 4, ack))...)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("all together: %s", diff)
	}
}

func pullWaits(t *testing.T, b *bench) {
	c := b.consumer(t, jet.ConsumerConfig{AckWait: long})
	began := time.Now()
	if err := c.Pull(t.Context(), 1, 1200*time.Millisecond, func(jet.Delivery) {}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < time.Second || took > 10*time.Second {
		t.Errorf("an empty pull took %v, want its wait", took)
	}
	if err := c.Pull(t.Context(), 1, 0, func(jet.Delivery) {}); err != nil {
		t.Errorf("a pull without a wait: got %v, want nothing", err)
	}
	stored := make(chan time.Time, 1)
	go func() {
		select {
		case <-time.After(500 * time.Millisecond):
		case <-t.Context().Done():
		}
		stored <- time.Now()
		_, _ = b.Publish(context.WithoutCancel(t.Context()), jet.Publish{Msg: jet.Msg{Subject: b.prefix + "a"}})
	}()
	var came time.Time
	if err := c.Pull(t.Context(), 1, 20*time.Second, func(d jet.Delivery) { came = time.Now(); _ = d.Ack() }); err != nil {
		t.Fatal(err)
	}
	if late := came.Sub(<-stored); came.IsZero() || late > 5*time.Second {
		t.Errorf("a message came %v after it was stored, want at once", late)
	}
}

// HOLE H17. A consumer that was deleted goes on at its floor, neither at the first
// message nor behind the last.
func consumerDeleted(t *testing.T, b *bench) {
	var all []uint64
	for range 6 {
		all = append(all, b.publish(t, "a", ""))
	}
	c := b.consumer(t, jet.ConsumerConfig{AckWait: long})
	pull(t, c, 3, ack)
	wantFloor(t, c, all[2])
	b.DeleteConsumer(t, b.Name(), "c")
	if diff := cmp.Diff(all[3:], seqs(pull(t, c, 3, ack))); diff != "" {
		t.Errorf("after it was deleted: %s", diff)
	}
	wantFloor(t, c, all[5])

	// The same while a pull waits.
	var got []jet.Delivery
	ctx, cancel := context.WithCancel(t.Context())
	pulled := make(chan error, 1)
	go func() {
		for {
			err := c.Pull(ctx, 1, 20*time.Second, func(d jet.Delivery) { got = append(got, d); _ = d.Ack() })
			if !errors.Is(err, botmesh.ErrRefused) { // one that is deleted in a cluster may forget the request
				pulled <- err
				return
			}
		}
	}()
	until(t, "the consumer to be there", func() bool { _, _, err := c.Pending(t.Context()); return err == nil })
	b.DeleteConsumer(t, b.Name(), "c")
	next := b.publish(t, "a", "")
	err := <-pulled
	cancel()
	if err != nil {
		t.Fatalf("pull: %v", err)
	}
	if len(got) != 1 || got[0].Seq != next {
		t.Errorf("got %v, want message %d", seqs(got), next)
	}
}

func messageDeleted(t *testing.T, b *bench) {
	gone, last := b.publish(t, "a", ""), b.publish(t, "a", "")
	c := b.consumer(t, jet.ConsumerConfig{AckWait: time.Second})
	pull(t, c, 1, nil)
	b.DeleteMessage(t, b.Name(), gone)
	if got := pull(t, c, 1, ack)[0]; got.Seq != last {
		t.Errorf("got %d, want %d", got.Seq, last)
	}
	wantFloor(t, c, last)
}
