package outbox

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

func textOf(l botmesh.Letter) string {
	var s []string
	for _, p := range l.Parts {
		s = append(s, p.Send.Text)
	}
	return strings.Join(s, ",")
}

func TestLetters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.process("a")
	one, _ := a.append("1")
	two, _ := a.append("2,3")
	read := func(from uint64, limit int) (got []string) {
		letters, err := a.Letters(t.Context(), chatA, from, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range letters {
			got = append(got, textOf(l.Letter))
		}
		return got
	}
	for _, tc := range []struct {
		from  uint64
		limit int
		want  []string
	}{
		{0, 10, []string{"1", "2,3"}},
		{0, 1, []string{"1"}},
		{one + 1, 10, []string{"2,3"}},
		{two + 1, 10, nil},
	} {
		if diff := gocmp.Diff(tc.want, read(tc.from, tc.limit)); diff != "" {
			t.Errorf("letters from %d, at most %d (-want +got):\n%s", tc.from, tc.limit, diff)
		}
	}
}

// SPEC O6
func TestReceipts(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a")
		seq, l := a.append("1,2,3")
		a.deliver(seq)
		var parts []string
		for from := uint64(0); ; {
			receipts, next, err := a.Receipts(w.Context(), chatA, from, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range receipts {
				parts = append(parts, r.Part+" "+r.ProviderID)
			}
			if next == 0 {
				break
			}
			from = next
		}
		want(w, "receipts", parts, []string{l.Parts[0].ID + " m-1", l.Parts[1].ID + " m-2", l.Parts[2].ID + " m-3"})
	})
}

// bell is a Config.Listen that the test rings.
type bell struct {
	mu   sync.Mutex
	wake map[string]func()
}

func (b *bell) listen(subject string, wake func()) (func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wake == nil {
		b.wake = map[string]func(){}
	}
	b.wake[subject] = wake
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.wake, subject)
	}, nil
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, wake := range b.wake {
		wake()
	}
}

func TestFollow(t *testing.T) {
	for _, rings := range []bool{true, false} {
		t.Run(map[bool]string{true: "listening", false: "polling"}[rings], func(t *testing.T) {
			bubble(t, func(w *world) {
				var b bell
				a := w.process("a")
				reader := w.process("r", func(c *Config) {
					c.Senders = nil
					if rings {
						c.Listen = b.listen
					}
				})
				one, _ := a.append("1")
				a.append("2")
				ctx, cancel := context.WithCancelCause(w.Context())
				got := make(chan string, 10)
				done := make(chan error)
				go func() {
					done <- reader.Follow(ctx, chatA, one, func(_ uint64, l botmesh.Letter) error {
						got <- textOf(l)
						return nil
					})
				}()
				want(w, "there", <-got, "2")
				b.ring() // before the letter can be read
				synctest.Wait()
				began := time.Now()
				a.append("3")
				want(w, "new", <-got, "3")
				if late := time.Since(began); late > time.Second || rings && late > 50*time.Millisecond {
					t.Errorf("delay: got %v, want at most a poll", late)
				}
				reader.setRule(func(op) fate { return refuse })
				a.append("4")
				b.ring()
				time.Sleep(time.Minute)
				reader.setRule(nil)
				want(w, "after an outage", <-got, "4")

				why := errors.New("enough")
				cancel(why)
				want(w, "end", <-done, why)
				want(w, "listeners", len(b.wake), 0)
			})
		})
	}
}

func TestFollowEndsWithItsReader(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a")
		a.append("1")
		a.append("2")
		n, full := 0, errors.New("full")
		err := a.Follow(w.Context(), chatA, 0, func(uint64, botmesh.Letter) error { n++; return full })
		want(w, "end", err, full)
		want(w, "letters", n, 1)
	})
}

// Letters that are gone from the stream keep nobody waiting.
func TestGoneLettersAreSettled(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a")
		one, _ := a.append("1")
		two, _ := a.append("2")
		w.stream.Remove(one)
		s := a.deliver(two)
		want(w, "settled", s.Settled, two)
		want(w, "calls", w.called(), []string{"a:2"})

		three, _ := a.append("3")
		w.stream.Remove(three)
		s = a.deliver(three)
		want(w, "settled", s.Settled, three)
	})
}

// A leader that was deposed and does not know of the letter yet does not make it
// settled.
func TestDeposedLeaderIsNotBelieved(t *testing.T) {
	bubble(t, func(w *world) {
		a, b, began := w.process("a"), w.process("b"), time.Now()
		one, _ := a.append("1")
		a.deliver(one)
		two, _ := a.append("2")
		b.line.Stream = memoryAt{w.stream, func() uint64 {
			if time.Since(began) < 10*time.Second {
				return two - 1
			}
			return math.MaxUint64
		}}
		s := b.deliver(two)
		want(w, "settled", s.Settled, two)
		want(w, "calls", w.called(), []string{"a:1", "b:2"})
	})
}

// memoryAt reads a stream as if it ended at a sequence.
type memoryAt struct {
	jet.Stream
	until func() uint64
}

func (m memoryAt) Next(ctx context.Context, subject string, from uint64) (jet.Stored, error) {
	got, err := m.Stream.Next(ctx, subject, from)
	if err == nil && got.Seq > m.until() {
		return jet.Stored{}, botmesh.ErrNotFound
	}
	return got, err
}

func (m memoryAt) Last(ctx context.Context, subject string) (jet.Stored, error) {
	of, err := m.Range(ctx, subject, 0, 1000)
	for _, got := range slices.Backward(of) {
		if got.Seq <= m.until() {
			return got, err
		}
	}
	return jet.Stored{}, cmp.Or(err, botmesh.ErrNotFound)
}

func (m memoryAt) Info(ctx context.Context) (jet.Info, error) {
	info, err := m.Stream.Info(ctx)
	info.LastSeq = min(info.LastSeq, m.until())
	return info, err
}
