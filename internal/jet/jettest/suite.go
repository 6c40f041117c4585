// Package jettest is the suite that every jet.Stream passes, and a stream whose
// publishes go wrong.
package jettest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// Backend is a server to be tested.
type Backend struct {
	// New makes a stream of that configuration.
	New func(t testing.TB, cfg jetstream.StreamConfig) jet.Stream
	// Again opens another handle of a stream, as another replica would.
	Again func(t testing.TB, name string) jet.Stream
	// DeleteConsumer deletes a consumer behind the back of who uses it.
	DeleteConsumer func(t testing.TB, stream, consumer string)
	// DeleteMessage removes one message.
	DeleteMessage func(t testing.TB, stream string, seq uint64)
}

// Run runs the suite.
func Run(t *testing.T, b Backend) {
	for _, tt := range []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"PublishExpects", expects},
		{"PublishLeavesItsMessageAlone", leavesAlone},
		{"PublishKnowsIDs", knowsIDs},
		{"TooLargeIsRefused", tooLarge},
		{"MessagesExpire", expires},
		{"SchedulesFireOnce", schedules},
		{"PurgedSchedulesDoNotFire", purgedSchedules},
		{"OneOfManyPublishersWins", oneWinner},
		{"ReadsFindWhatIsThere", reads},
		{"RangeIsAPrefix", ranges},
		{"EndedContext", endedContext},
		{"InfoTells", info},
		{"Model", model},
		{"ConsumerHandsOutAll", handsOut},
		{"ConsumerFiltersAndStrips", filters},
		{"ConsumerBeginsAtStartSeq", startSeq},
		{"ConsumerOfAnotherStreamIsRefused", anotherStream},
		{"UnacknowledgedComesAgain", comesAgain},
		{"MarksMoveTheRedelivery", marks},
		{"LateAckSettles", lateAck},
		{"PullTakesNoMoreThanItsLimit", noSurplus},
		{"PullEndsWithItsContext", pullEnds},
		{"PullWaitsForMessages", pullWaits},
		{"DeletedConsumerIsMadeAgainAtItsFloor", consumerDeleted},
		{"DeletedMessagesAreSkipped", messageDeleted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, newBench(t, b, true))
		})
	}
	t.Run("RangeWithoutDirectReads", func(t *testing.T) {
		t.Parallel()
		ranges(t, newBench(t, b, false))
	})
}

// bench is a stream with what a test needs to use it.
type bench struct {
	Backend
	jet.Stream
	prefix string // of its subjects
}

func newBench(t testing.TB, b Backend, direct bool) *bench {
	name := "T" + nuid.Next()
	return &bench{b, b.New(t, jetstream.StreamConfig{
		Name:        name,
		Subjects:    []string{name + ".>"},
		AllowDirect: direct,
		AllowMsgTTL: true,
		AllowRollup: true, // for schedules
		Duplicates:  time.Second,

		AllowMsgSchedules: true,
		Metadata:          map[string]string{"botmesh.epoch": "e1"},
	}), name + "."}
}

// publish stores one message on a subject.
func (b *bench) publish(t testing.TB, subject, data string) uint64 {
	t.Helper()
	ack, err := b.Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: b.prefix + subject, Data: []byte(data)}})
	if err != nil {
		t.Fatalf("publish: %v", err)
	}
	return ack.Seq
}

func (b *bench) expect(t testing.TB, subject string, last uint64) (jet.Ack, error) {
	return b.Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: b.prefix + subject}, Expect: &last})
}

// win publishes what expects the right sequence. A cluster answers it with a false
// conflict now and then: it answers the publish before without having finished it.
func win(publish func() (jet.Ack, error)) (ack jet.Ack, err error) {
	for range 20 {
		if ack, err = publish(); !errors.Is(err, botmesh.ErrConflict) {
			break
		}
	}
	return ack, err
}

func expects(t *testing.T, b *bench) {
	first, err := win(func() (jet.Ack, error) { return b.expect(t, "a", 0) })
	if err != nil {
		t.Fatal(err)
	}
	b.publish(t, "b", "") // another subject's messages do not count
	second, err := win(func() (jet.Ack, error) { return b.expect(t, "a", first.Seq) })
	if err != nil || second.Seq <= first.Seq {
		t.Fatalf("got %+v, %v, want a sequence over %d", second, err, first.Seq)
	}
	for _, last := range []uint64{0, first.Seq, second.Seq + 7} {
		if ack, err := b.expect(t, "a", last); !errors.Is(err, botmesh.ErrConflict) {
			t.Errorf("expecting %d when it is %d: got %+v, %v, want ErrConflict", last, second.Seq, ack, err)
		}
	}
}

func leavesAlone(t *testing.T, b *bench) {
	header := nats.Header{"A": {"1"}}
	if _, err := b.Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: b.prefix + "a", Header: header}, Expect: new(uint64), TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(nats.Header{"A": {"1"}}, header); diff != "" {
		t.Errorf("the caller's header changed: %s", diff)
	}
	// Nor is what is stored the caller's to change, before or after it is read.
	p := jet.Publish{Msg: jet.Msg{Subject: b.prefix + "b", Header: header, Data: []byte("data")}}
	if _, err := b.Publish(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	p.Data[0], header["A"][0] = 'X', "X"
	for range 2 {
		got, err := b.Last(t.Context(), p.Subject)
		if err != nil || string(got.Data) != "data" || got.Header.Get("A") != "1" {
			t.Fatalf("got %+v, %v, want what was published", got, err)
		}
		got.Data[0], got.Header["A"][0] = 'X', "X"
	}
}

func knowsIDs(t *testing.T, b *bench) {
	p := jet.Publish{Msg: jet.Msg{Subject: b.prefix + "a", Header: nats.Header{nats.MsgIdHdr: {"x"}}}}
	first, err := b.Publish(t.Context(), p)
	if err != nil || first.Duplicate {
		t.Fatalf("got %+v, %v, want a new message", first, err)
	}
	again, err := b.Publish(t.Context(), p)
	if err != nil || !again.Duplicate || again.Seq != first.Seq {
		t.Errorf("got %+v, %v, want the duplicate of %d", again, err, first.Seq)
	}
	until(t, "the id to be forgotten", func() bool {
		ack, err := b.Publish(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return !ack.Duplicate && ack.Seq > first.Seq
	})
}

func tooLarge(t *testing.T, b *bench) {
	_, err := b.Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: b.prefix + "a", Data: make([]byte, 1<<20+1)}})
	if !errors.Is(err, botmesh.ErrTooLarge) || !errors.Is(err, botmesh.ErrRefused) {
		t.Errorf("got %v, want ErrTooLarge, which is an ErrRefused", err)
	}
	if info, err := b.Info(t.Context()); err != nil || info.Messages != 0 {
		t.Errorf("got %+v, %v, want nothing stored", info, err)
	}
}

func expires(t *testing.T, b *bench) {
	began := time.Now()
	p := jet.Publish{Msg: jet.Msg{Subject: b.prefix + "a"}, TTL: 1100 * time.Millisecond}
	if _, err := b.Publish(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	until(t, "the message to expire", func() bool {
		_, err := b.Last(t.Context(), p.Subject)
		return errors.Is(err, botmesh.ErrNotFound)
	})
	if took := time.Since(began); took < p.TTL {
		t.Errorf("it lived for %v, want at least %v", took, p.TTL)
	}
	if _, err := b.expect(t, "a", 0); err != nil {
		t.Errorf("a subject whose message expired: got %v, want it to be empty", err)
	}
}

func oneWinner(t *testing.T, b *bench) {
	const writers, rounds = 6, 20
	var last uint64
	for round := range rounds {
		var won atomic.Uint64
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				// While none has won, a conflict may be a false one.
				switch ack, err := win(func() (jet.Ack, error) { return b.expect(t, "a", last) }); {
				case err == nil && !won.CompareAndSwap(0, ack.Seq):
					t.Errorf("round %d: two publishes won, %d and %d", round, won.Load(), ack.Seq)
				case err != nil && !errors.Is(err, botmesh.ErrConflict):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if last = won.Load(); last == 0 {
			t.Fatalf("round %d: no publish won", round)
		}
	}
}

func reads(t *testing.T, b *bench) {
	began := time.Now()
	header := nats.Header{"Bot-Type": {"message"}, "X": {"1", "2"}}
	var seqs []uint64
	for i := range 6 {
		ack, err := b.Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: b.prefix + "c." + strconv.Itoa(i%2), Header: header, Data: []byte{byte(i), 0, '\n', 0xff}}})
		if err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, ack.Seq)
	}
	ctx, even := t.Context(), b.prefix+"c.0"
	for _, tt := range []struct {
		name string
		read func() (jet.Stored, error)
		want int // index of the message, -1 if not found
	}{
		{"last", func() (jet.Stored, error) { return b.Last(ctx, even) }, 4},
		{"last of nothing", func() (jet.Stored, error) { return b.Last(ctx, b.prefix+"none") }, -1},
		{"get", func() (jet.Stored, error) { return b.Get(ctx, seqs[3]) }, 3},
		{"get nothing", func() (jet.Stored, error) { return b.Get(ctx, seqs[5]+1) }, -1},
		{"next from zero", func() (jet.Stored, error) { return b.Next(ctx, even, 0) }, 0},
		{"next at", func() (jet.Stored, error) { return b.Next(ctx, even, seqs[2]) }, 2},
		{"next after", func() (jet.Stored, error) { return b.Next(ctx, even, seqs[2]+1) }, 4},
		{"next by wildcard", func() (jet.Stored, error) { return b.Next(ctx, b.prefix+"*.1", seqs[4]) }, 5},
		{"next at the end", func() (jet.Stored, error) { return b.Next(ctx, even, seqs[4]+1) }, -1},
	} {
		got, err := tt.read()
		if tt.want < 0 {
			if !errors.Is(err, botmesh.ErrNotFound) {
				t.Errorf("%s: got %+v, %v, want ErrNotFound", tt.name, got, err)
			}
			continue
		}
		want := jet.Msg{Subject: b.prefix + "c." + strconv.Itoa(tt.want%2), Header: header, Data: []byte{byte(tt.want), 0, '\n', 0xff}}
		if diff := cmp.Diff(want, got.Msg); err != nil || got.Seq != seqs[tt.want] || diff != "" {
			t.Errorf("%s: got sequence %d, %v, want %d; message: %s", tt.name, got.Seq, err, seqs[tt.want], diff)
		}
		if off := got.Time.Sub(began); off < -time.Minute || off > time.Minute {
			t.Errorf("%s: got the time %v, want about %v", tt.name, got.Time, began)
		}
	}
}

func ranges(t *testing.T, b *bench) {
	var seqs []uint64
	for i := range 10 {
		seqs = append(seqs, b.publish(t, "c."+strconv.Itoa(i%2), strconv.Itoa(i)))
	}
	for _, tt := range []struct {
		subject string
		from    uint64
		limit   int
		want    []int
	}{
		{"c.0", 0, 3, []int{0, 2, 4}},
		{"c.0", seqs[2], 1, []int{2}},
		{"c.0", seqs[3], 10, []int{4, 6, 8}},
		{"c.0", seqs[8], 10, []int{8}},
		{"c.0", seqs[8] + 1, 10, nil},
		{"c.*", seqs[7], 10, []int{7, 8, 9}},
		{"none", 0, 10, nil},
		{"c.0", 0, 0, nil},
	} {
		// A replica may lag: what it holds is the beginning of what there is.
		until(t, fmt.Sprintf("%d messages of %s from %d", len(tt.want), tt.subject, tt.from), func() bool {
			of, err := b.Range(t.Context(), b.prefix+tt.subject, tt.from, tt.limit)
			if err != nil || len(of) > len(tt.want) {
				t.Fatalf("range of %s from %d: got %d messages, %v, want %d", tt.subject, tt.from, len(of), err, len(tt.want))
			}
			for i, m := range of {
				want := jet.Msg{Subject: b.prefix + "c." + strconv.Itoa(tt.want[i]%2), Data: []byte(strconv.Itoa(tt.want[i]))}
				if diff := cmp.Diff(want, m.Msg); diff != "" || m.Seq != seqs[tt.want[i]] || time.Since(m.Time).Abs() > time.Minute {
					t.Fatalf("range of %s from %d: message %d has sequence %d, want %d: %s", tt.subject, tt.from, i, m.Seq, seqs[tt.want[i]], diff)
				}
			}
			return len(of) == len(tt.want)
		})
	}
}

func endedContext(t *testing.T, b *bench) {
	b.publish(t, "a", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Publish(ctx, jet.Publish{Msg: jet.Msg{Subject: b.prefix + "a"}}); !errors.Is(err, botmesh.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("publish: got %v, want ErrUnknown for the context's error", err)
	}
	for name, read := range map[string]func() error{
		"last":  func() error { _, err := b.Last(ctx, b.prefix+"a"); return err },
		"get":   func() error { _, err := b.Get(ctx, 1); return err },
		"next":  func() error { _, err := b.Next(ctx, b.prefix+"a", 1); return err },
		"range": func() error { _, err := b.Range(ctx, b.prefix+"a", 1, 1); return err },
		"info":  func() error { _, err := b.Info(ctx); return err },
	} {
		if err := read(); !errors.Is(err, context.Canceled) || errors.Is(err, botmesh.ErrRefused) || errors.Is(err, botmesh.ErrNotFound) {
			t.Errorf("%s: got %v, want the context's error alone", name, err)
		}
	}
}

func info(t *testing.T, b *bench) {
	want := jet.Info{FirstSeq: 0, LastSeq: 0}
	for range 3 {
		want.LastSeq = b.publish(t, "a", "")
		want.Messages++
	}
	want.FirstSeq = want.LastSeq - 2
	b.DeleteMessage(t, b.Name(), want.FirstSeq)
	want.FirstSeq++
	want.Messages--
	got, err := b.Info(t.Context())
	if got.Metadata["botmesh.epoch"] != "e1" {
		t.Errorf("got metadata %v, want the stream's", got.Metadata)
	}
	got.Metadata = nil
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("got %v: %s", err, diff)
	}
}
