package jet_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
)

func TestDialRefusesAWrongConfiguration(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]jet.Config{
		"bad url":          {URL: "nats://127.0.0.1:no"},
		"negative timeout": {Timeout: -1},
		"no such file":     {Creds: t.TempDir() + "/none.creds"},
	} {
		if c, err := jet.Dial(t.Context(), cfg); err == nil {
			c.Close()
			t.Errorf("%s: got no error", name)
		}
	}
}

// A server that is not there yet is waited for, and what was refused meanwhile
// never arrives.
func TestNothingIsPublishedLate(t *testing.T) {
	t.Parallel()
	n := natstest.Process(t)
	c := dial(t, n.URL)
	newStream(t, c)
	n.Kill()
	natstest.Until(t, "the loss to be noticed", func() bool { return c.Healthy() != nil })
	early := dial(t, n.URL) // while the server is away
	if err := early.Healthy(); err == nil {
		t.Error("healthy without a connection")
	}
	for _, c := range []*jet.Conn{c, early} {
		began := time.Now()
		if err := publish(t, c); !errors.Is(err, botmesh.ErrRefused) {
			t.Errorf("publish without a connection: got %v, want ErrRefused", err)
		}
		if _, err := c.Stream("S").Last(t.Context(), "s.1"); !errors.Is(err, botmesh.ErrRefused) {
			t.Errorf("read without a connection: got %v, want ErrRefused", err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v to be refused, want at once", took)
		}
	}
	n.Start(t)
	for _, c := range []*jet.Conn{c, early} {
		natstest.Until(t, "a publish to be taken", func() bool { return publish(t, c) == nil })
		if err := c.Healthy(); err != nil {
			t.Errorf("healthy: got %v", err)
		}
	}
	if info, err := c.Stream("S").Info(t.Context()); err != nil || info.Messages != 2 {
		t.Errorf("got %d messages, %v, want the two that were taken", info.Messages, err)
	}
}

// A publish whose answer is awaited when the connection breaks is unknown at once,
// not after its timeout.
func TestALostConnectionIsAnUnknownAtOnce(t *testing.T) {
	t.Parallel()
	p := newProxy(t, natstest.Start(t))
	c, err := jet.Dial(t.Context(), jet.Config{URL: p.url, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	newStream(t, c)
	p.hold()
	sent := c.NATS().Stats().OutMsgs
	var wg sync.WaitGroup
	began := time.Now()
	wg.Go(func() {
		if err := publish(t, c); !errors.Is(err, botmesh.ErrUnknown) {
			t.Errorf("publish: got %v, want ErrUnknown", err)
		}
	})
	wg.Go(func() {
		if _, err := c.Stream("S").Last(t.Context(), "s.1"); !errors.Is(err, botmesh.ErrRefused) {
			t.Errorf("read: got %v, want ErrRefused", err)
		}
	})
	natstest.Until(t, "both to be sent", func() bool { return c.NATS().Stats().OutMsgs == sent+2 })
	p.cut()
	wg.Wait()
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %v, want less than the timeout", took)
	}
}

// A server that answers nothing is left after two publishes, and the connection is
// unhealthy until one is answered.
func TestTwoTimeoutsForceAReconnect(t *testing.T) {
	t.Parallel()
	p := newProxy(t, natstest.Start(t))
	c, err := jet.Dial(t.Context(), jet.Config{URL: p.url, Timeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	newStream(t, c)
	p.hold()
	if err := publish(t, c); !errors.Is(err, botmesh.ErrUnknown) {
		t.Fatalf("got %v, want ErrUnknown", err)
	}
	if err := c.Healthy(); err != nil {
		t.Errorf("after one timeout: got %v, want healthy", err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := publish(t, c); !errors.Is(err, botmesh.ErrUnknown) {
				t.Errorf("got %v, want ErrUnknown", err)
			}
		})
	}
	wg.Wait()
	if err := c.Healthy(); err == nil {
		t.Error("healthy after two timeouts, want an error until a publish is answered")
	}
	natstest.Until(t, "a publish on the new connection", func() bool { return publish(t, c) == nil })
	if err := c.Healthy(); err != nil {
		t.Errorf("after an answer: got %v, want healthy", err)
	}
	if got := c.NATS().Stats().Reconnects; got != 1 {
		t.Errorf("got %d reconnects, want one for the whole run of timeouts", got)
	}
}

// A caller that waits for a short time only says nothing of the server.
func TestImpatientCallersForceNoReconnect(t *testing.T) {
	t.Parallel()
	p := newProxy(t, natstest.Start(t))
	c, err := jet.Dial(t.Context(), jet.Config{URL: p.url, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	newStream(t, c)
	p.hold()
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		_, err := c.Stream("S").Publish(ctx, jet.Publish{Msg: jet.Msg{Subject: "s.1"}})
		cancel()
		if !errors.Is(err, botmesh.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want ErrUnknown for the deadline", err)
		}
	}
	if err := c.Healthy(); err != nil {
		t.Errorf("got %v, want healthy", err)
	}
}

// Pulls go on over a restart of the server, and an acknowledged message stays so.
func TestAConsumerSurvivesARestart(t *testing.T) {
	t.Parallel()
	n := natstest.Process(t)
	c := dial(t, n.URL)
	newStream(t, c)
	consumer, err := c.Stream("S").Consumer(t.Context(), jet.ConsumerConfig{Name: "c", AckWait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := publish(t, c); err != nil {
		t.Fatal(err)
	}
	var got []uint64
	pull := func() {
		err := consumer.Pull(t.Context(), 10, 500*time.Millisecond, func(d jet.Delivery) { got = append(got, d.Seq); _ = d.Ack() })
		if err != nil && !errors.Is(err, botmesh.ErrRefused) {
			t.Errorf("pull: got %v, want ErrRefused at most", err)
		}
	}
	natstest.Until(t, "the first message", func() bool { pull(); return len(got) == 1 })
	natstest.Until(t, "its acknowledgement", func() bool { floor, err := consumer.Floor(t.Context()); return err == nil && floor == 1 })

	// A pull that waits when the server goes away ends soon.
	pulled := make(chan error, 1)
	began := time.Now()
	go func() { pulled <- consumer.Pull(t.Context(), 10, time.Minute, func(jet.Delivery) {}) }()
	natstest.Until(t, "the pull to be out", func() bool {
		k, err := c.JetStream().Consumer(t.Context(), "S", "c")
		return err == nil && k.CachedInfo().NumWaiting == 1
	})
	n.Kill()
	if err := <-pulled; !errors.Is(err, botmesh.ErrRefused) || time.Since(began) > 20*time.Second {
		t.Errorf("the pull ended after %v with %v, want ErrRefused soon", time.Since(began), err)
	}
	n.Start(t)
	natstest.Until(t, "a publish to be taken", func() bool { return publish(t, c) == nil })
	natstest.Until(t, "the second message", func() bool { pull(); return len(got) >= 2 && got[len(got)-1] == 2 })
}

// A pull whose server has gone silent ends, long before its wait.
func TestAPullNoticesSilence(t *testing.T) {
	t.Parallel()
	p := newProxy(t, natstest.Start(t))
	c, err := jet.Dial(t.Context(), jet.Config{URL: p.url, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	newStream(t, c)
	if err := publish(t, c); err != nil {
		t.Fatal(err)
	}
	consumer, err := c.Stream("S").Consumer(t.Context(), jet.ConsumerConfig{Name: "c", AckWait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	err = consumer.Pull(t.Context(), 2, time.Minute, func(jet.Delivery) { p.hold() })
	if took := time.Since(began); !errors.Is(err, botmesh.ErrRefused) || took > 20*time.Second {
		t.Errorf("got %v after %v, want ErrRefused within seconds", err, took)
	}
}

// What jet is not for, or is refused, is told apart.
func TestRefusals(t *testing.T) {
	t.Parallel()
	c := dial(t, natstest.Start(t))
	create := func(cfg jetstream.StreamConfig) jet.Stream {
		t.Helper()
		if _, err := c.JetStream().CreateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		return c.Stream(cfg.Name)
	}
	full := create(jetstream.StreamConfig{Name: "FULL", Subjects: []string{"full.>"}, MaxMsgs: 1, Discard: jetstream.DiscardNew})
	small := create(jetstream.StreamConfig{Name: "SMALL", Subjects: []string{"small.>"}, MaxMsgSize: 10})
	if _, err := full.Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: "full.1"}}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		do   func() error
		want error
		not  error
	}{
		{"a full stream", func() error { return to(t, full, "full.1", 0) }, botmesh.ErrRefused, botmesh.ErrTooLarge},
		{"over the stream's size", func() error { return to(t, small, "small.1", 11) }, botmesh.ErrTooLarge, botmesh.ErrUnknown},
		{"over the server's size", func() error { return to(t, small, "small.1", 2<<20) }, botmesh.ErrTooLarge, botmesh.ErrUnknown},
		{"no stream", func() error { return to(t, c.Stream("NONE"), "none.1", 0) }, botmesh.ErrRefused, botmesh.ErrUnknown},
		{"another stream's subject", func() error { return to(t, full, "small.1", 0) }, botmesh.ErrUnknown, botmesh.ErrRefused},
		{"not a subject", func() error { return to(t, full, "full. 1", 0) }, botmesh.ErrRefused, botmesh.ErrUnknown},
		{"time to live where none is allowed", func() error {
			_, err := small.Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: "small.1"}, TTL: time.Second})
			return err
		}, botmesh.ErrRefused, botmesh.ErrUnknown},
		{"read of no stream", func() error { _, err := c.Stream("NONE").Last(t.Context(), "x"); return err }, botmesh.ErrRefused, botmesh.ErrNotFound},
		{"range of no stream", func() error { _, err := c.Stream("NONE").Range(t.Context(), "x", 0, 1); return err }, botmesh.ErrRefused, botmesh.ErrNotFound},
		{"info of no stream", func() error { _, err := c.Stream("NONE").Info(t.Context()); return err }, botmesh.ErrRefused, botmesh.ErrNotFound},
		{"consumer of no stream", func() error {
			_, err := c.Stream("NONE").Consumer(t.Context(), jet.ConsumerConfig{Name: "c"})
			return err
		}, botmesh.ErrRefused, botmesh.ErrNotFound},
	} {
		if err := tt.do(); !errors.Is(err, tt.want) || errors.Is(err, tt.not) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
}

// A stream whose direct reads are switched off is read from its leader.
func TestRangeNoticesThatDirectReadsAreOff(t *testing.T) {
	t.Parallel()
	c := dial(t, natstest.Start(t))
	cfg := jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, AllowDirect: true}
	if _, err := c.JetStream().CreateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	s := c.Stream("S")
	if err := to(t, s, "s.1", 1); err != nil {
		t.Fatal(err)
	}
	read := func() bool {
		of, err := s.Range(t.Context(), "s.1", 0, 10)
		if err != nil && !errors.Is(err, botmesh.ErrRefused) {
			t.Fatal(err)
		}
		return len(of) == 1
	}
	if !read() {
		t.Error("a direct read found nothing")
	}
	cfg.AllowDirect = false
	if _, err := c.JetStream().UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	natstest.Until(t, "the leader to be read", read)
}

// HOLE H6. A consumer whose stream was made anew does not go on at the old floor.
func TestAConsumerNoticesAnotherStream(t *testing.T) {
	t.Parallel()
	c := dial(t, natstest.Start(t))
	newStream(t, c)
	s := c.Stream("S")
	consumer, err := s.Consumer(t.Context(), jet.ConsumerConfig{Name: "c", AckWait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := publish(t, c); err != nil {
			t.Fatal(err)
		}
	}
	if err := consumer.Pull(t.Context(), 5, time.Second, func(d jet.Delivery) { _ = d.Ack() }); err != nil {
		t.Fatal(err)
	}
	natstest.Until(t, "the acknowledgements", func() bool { floor, err := consumer.Floor(t.Context()); return err == nil && floor == 5 })
	if err := c.JetStream().DeleteStream(t.Context(), "S"); err != nil {
		t.Fatal(err)
	}
	newStream(t, c)
	if err := publish(t, c); err != nil {
		t.Fatal(err)
	}
	err = consumer.Pull(t.Context(), 5, time.Second, func(d jet.Delivery) { t.Errorf("got message %d", d.Seq) })
	if !errors.Is(err, botmesh.ErrRefused) || !strings.Contains(err.Error(), "went back") {
		t.Errorf("got %v, want it to say that the stream went back", err)
	}
}

// Drain writes out the marks that were made last.
func TestDrainKeepsMarks(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t)
	c := dial(t, url)
	newStream(t, c)
	consumer, err := c.Stream("S").Consumer(t.Context(), jet.ConsumerConfig{Name: "c", AckWait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := publish(t, c); err != nil {
		t.Fatal(err)
	}
	if err := consumer.Pull(t.Context(), 1, time.Second, func(d jet.Delivery) { _ = d.Ack() }); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := c.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	if err := publish(t, c); !errors.Is(err, botmesh.ErrRefused) {
		t.Errorf("publish after the drain: got %v, want ErrRefused", err)
	}
	other, err := dial(t, url).Stream("S").Consumer(t.Context(), jet.ConsumerConfig{Name: "c", AckWait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	natstest.Until(t, "the acknowledgement", func() bool { floor, err := other.Floor(t.Context()); return err == nil && floor == 1 })
}

// newStream makes the stream S of s.>.
func newStream(t *testing.T, c *jet.Conn) {
	t.Helper()
	if _, err := c.JetStream().CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}}); err != nil {
		t.Fatal(err)
	}
}

func publish(t *testing.T, c *jet.Conn) error { return to(t, c.Stream("S"), "s.1", 0) }

// to publishes that many bytes.
func to(t *testing.T, s jet.Stream, subject string, size int) error {
	_, err := s.Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: subject, Data: make([]byte, size)}})
	return err
}

// Without a connection nothing is left to be written: to stop is no fault.
func TestDrainBeforeTheServerWasReached(t *testing.T) {
	t.Parallel()
	c, err := jet.Dial(t.Context(), jet.Config{URL: "nats://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := c.Drain(ctx); err != nil {
		t.Errorf("got %v, want no error", err)
	}
}
