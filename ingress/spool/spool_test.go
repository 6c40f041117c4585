package spool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// moody is a stream that is away at times.
type moody struct {
	jet.Stream
	away atomic.Pointer[error]
	mu   sync.Mutex
	took []string
}

func (m *moody) leave(err error) { m.away.Store(&err) }

func (m *moody) Publish(ctx context.Context, p jet.Publish) (jet.Ack, error) {
	if err := m.away.Load(); err != nil && *err != nil {
		if errors.Is(*err, botmesh.ErrUnknown) {
			<-ctx.Done()
		}
		return jet.Ack{}, *err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.took = append(m.took, p.Subject+" "+p.Header.Get("Nats-Msg-Id")+" "+string(p.Data))
	return jet.Ack{Seq: uint64(len(m.took))}, nil
}

// of are the messages of a subject that the stream took, in order.
func (m *moody) of(subject string) (took []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.took {
		if rest, ok := strings.CutPrefix(t, subject+" "); ok {
			took = append(took, rest)
		}
	}
	return took
}

func message(subject string, n int) jet.Publish {
	return jet.Publish{Msg: jet.Msg{Subject: subject, Header: map[string][]string{"Nats-Msg-Id": {fmt.Sprint("id", n)}}, Data: fmt.Append(nil, n)}}
}

func open(t *testing.T, dir string, m *moody, max int64) *Spool {
	t.Helper()
	s, err := Open(Config{Stream: m, Dir: dir, MaxBytes: max})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs a spool until the function it returns is called.
func run(t *testing.T, s *Spool) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: got %v, want no error", err)
		}
	}
}

func shut(t *testing.T, s *Spool) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func put(t *testing.T, s *Spool, subject string, n int) {
	t.Helper()
	if _, err := s.Publish(t.Context(), message(subject, n)); err != nil {
		t.Fatalf("%s %d: got %v, want it kept", subject, n, err)
	}
}

// want are the messages from 1 to n.
func numbers(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("id%d %d", i+1, i+1))
	}
	return all
}

// What the stream refuses or does not answer is kept, and what comes after it stays
// behind it. When the stream is back each chat's messages come in their order, under
// their ids, once; then all goes straight again.
//
// SPEC: J1
func TestMessagesWaitForTheStreamInOrder(t *testing.T) {
	t.Parallel()
	for name, why := range map[string]error{"refused": botmesh.ErrRefused, "unknown": botmesh.ErrUnknown} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &moody{}
				s := open(t, t.TempDir(), m, 0)
				defer shut(t, s)
				defer run(t, s)()
				put(t, s, "a", 1)
				m.leave(why)
				const n = 400 // with those of b more than a batch
				for i := 2; i <= n; i++ {
					put(t, s, "a", i)
					put(t, s, "b", i-1)
				}
				if got := s.Status(); got.Messages != 2*(n-1) || got.Bytes == 0 || got.Since.IsZero() {
					t.Errorf("status: got %+v, want %d messages", got, 2*(n-1))
				}
				time.Sleep(time.Minute)
				m.leave(nil)
				put(t, s, "a", n+1) // it may not overtake
				time.Sleep(time.Minute)
				put(t, s, "a", n+2)
				if got, want := m.of("a"), numbers(n+2); !slices.Equal(got, want) {
					t.Errorf("a: got %d messages, first %v, want %d in order", len(got), got[:min(5, len(got))], len(want))
				}
				if got, want := m.of("b"), numbers(n-1); !slices.Equal(got, want) {
					t.Errorf("b: got %d messages, want %d in order", len(got), len(want))
				}
				if got := s.Status(); got != (Status{}) {
					t.Errorf("status: got %+v, want nothing kept", got)
				}
			})
		})
	}
}

// What a process leaves, also one that is killed, the next one on its directory
// publishes first. Two processes have no directory in common.
func TestWhatIsKeptOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	dir, m := t.TempDir(), &moody{}
	m.leave(botmesh.ErrRefused)
	s := open(t, dir, m, 0)
	put(t, s, "a", 1)
	put(t, s, "a", 2)
	if _, err := Open(Config{Stream: m, Dir: dir}); err == nil || !strings.Contains(err.Error(), "open in another process") {
		t.Errorf("a second process: got %v, want that the first has it", err)
	}
	if err := s.Flush(t.Context()); !errors.Is(err, botmesh.ErrRefused) {
		t.Errorf("flush: got %v, want the stream's refusal", err)
	}
	shut(t, s)

	s = open(t, dir, m, 0)
	defer shut(t, s)
	if got := s.Status(); got.Messages != 2 {
		t.Errorf("status: got %+v, want both", got)
	}
	m.leave(nil)
	put(t, s, "a", 3)
	if err := s.Flush(t.Context()); err != nil {
		t.Errorf("flush: got %v, want no error", err)
	}
	if got := m.of("a"); !slices.Equal(got, numbers(3)) {
		t.Errorf("got %v, want three in order", got)
	}
}

// What does not fit is refused, and fits again when something went.
func TestAFullSpoolRefuses(t *testing.T) {
	t.Parallel()
	m := &moody{}
	m.leave(botmesh.ErrRefused)
	s := open(t, t.TempDir(), m, 200)
	defer shut(t, s)
	kept := 0
	for ; kept < 100; kept++ {
		_, err := s.Publish(t.Context(), message("a", kept+1))
		if err == nil {
			continue
		}
		if !errors.Is(err, ErrFull) || !errors.Is(err, botmesh.ErrRefused) {
			t.Fatalf("got %v, want that it is full", err)
		}
		break
	}
	if kept == 0 || kept == 100 {
		t.Fatalf("got %d messages kept, want a few", kept)
	}
	m.leave(nil)
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, s, "a", kept+1)
	if got := m.of("a"); !slices.Equal(got, numbers(kept+1)) {
		t.Errorf("got %v, want the %d that were kept and one more", got, kept)
	}
}

// What the stream will never take holds nothing up, and is not thrown away.
func TestWhatIsTooLargeHoldsNothingUp(t *testing.T) {
	t.Parallel()
	m := &moody{}
	m.leave(botmesh.ErrRefused)
	dir := t.TempDir()
	s := open(t, dir, m, 0)
	put(t, s, "a", 1)
	put(t, s, "b", 1)
	m.leave(fmt.Errorf("%w: %w", botmesh.ErrRefused, botmesh.ErrTooLarge))
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.leave(nil)
	if got := s.Status(); got != (Status{Refused: 2}) {
		t.Errorf("status: got %+v, want two refused", got)
	}
	shut(t, s)
	s = open(t, dir, m, 0)
	defer shut(t, s)
	if got := s.Status(); got != (Status{Refused: 2}) {
		t.Errorf("status of the next process: got %+v, want two refused", got)
	}
}

// What has a condition, or is refused for good, is the stream's alone.
func TestOnlyPlainMessagesAreKept(t *testing.T) {
	t.Parallel()
	m := &moody{}
	s := open(t, t.TempDir(), m, 0)
	defer shut(t, s)
	m.leave(botmesh.ErrRefused)
	none := uint64(0)
	conditional := message("a", 1)
	conditional.Expect = &none
	if _, err := s.Publish(t.Context(), conditional); !errors.Is(err, botmesh.ErrRefused) {
		t.Errorf("with a condition: got %v, want the refusal", err)
	}
	m.leave(botmesh.ErrTooLarge)
	if _, err := s.Publish(t.Context(), message("a", 1)); !errors.Is(err, botmesh.ErrTooLarge) {
		t.Errorf("too large: got %v, want that", err)
	}
	if got := s.Status(); got != (Status{}) {
		t.Errorf("status: got %+v, want nothing kept", got)
	}
}
