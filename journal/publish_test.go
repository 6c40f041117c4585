package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/telemetry"
)

// SPEC: J2
func TestTheSameEventTwiceIsOneRecord(t *testing.T) {
	t.Parallel()
	server := jet.NewMemory()
	a, b := openMemory(t, server, "e1"), openMemory(t, server, "e1")
	first := mustPublish(t, a.Publisher, message(chat("1"), "1", "hi"))
	again := mustPublish(t, b.Publisher, message(chat("1"), "1", "hi"))
	if first.Duplicate || !again.Duplicate || first.Seq != again.Seq {
		t.Errorf("got %+v, then %+v, want one place and the second a duplicate", first, again)
	}
	// The id is of one provider: another account may use it too.
	other := message(botmesh.ChatKey{Provider: "other", Chat: "1"}, "1", "hi")
	if got := mustPublish(t, a.Publisher, other); got.Duplicate {
		t.Errorf("another provider's id: got %+v, want no duplicate", got)
	}
	if got := texts(t, a, chat("1"), 0); !slices.Equal(got, []string{"hi"}) {
		t.Errorf("got %q, want one record", got)
	}
}

// SPEC: J1
func TestPublishIsRepeatedUntilItsOutcomeIsCertain(t *testing.T) {
	t.Parallel()
	errRefused := fmt.Errorf("no leader: %w", botmesh.ErrRefused)
	lost := func(s jet.Stream, p jet.Publish) (jet.Ack, error) { // done, and the answer got lost
		if _, err := s.Publish(context.Background(), p); err != nil {
			return jet.Ack{}, err
		}
		return jet.Ack{}, botmesh.ErrUnknown
	}
	done := func(s jet.Stream, p jet.Publish) (jet.Ack, error) { return s.Publish(context.Background(), p) }
	refused := func(jet.Stream, jet.Publish) (jet.Ack, error) { return jet.Ack{}, errRefused }
	unknown := func(jet.Stream, jet.Publish) (jet.Ack, error) { return jet.Ack{}, botmesh.ErrUnknown }
	tooLarge := func(jet.Stream, jet.Publish) (jet.Ack, error) { return jet.Ack{}, botmesh.ErrTooLarge }
	for name, c := range map[string]struct {
		tries []func(jet.Stream, jet.Publish) (jet.Ack, error) // the last one for ever
		want  error
		not   error
		kept  int
	}{
		"done":              {tries: []func(jet.Stream, jet.Publish) (jet.Ack, error){done}, kept: 1},
		"refused, done":     {tries: []func(jet.Stream, jet.Publish) (jet.Ack, error){refused, refused, done}, kept: 1},
		"answer lost, done": {tries: []func(jet.Stream, jet.Publish) (jet.Ack, error){lost, done}, kept: 1},
		"refused":           {tries: []func(jet.Stream, jet.Publish) (jet.Ack, error){refused}, want: botmesh.ErrRefused, not: botmesh.ErrUnknown},
		"lost, refused":     {tries: []func(jet.Stream, jet.Publish) (jet.Ack, error){lost, refused}, want: botmesh.ErrUnknown, not: botmesh.ErrRefused, kept: 1},
		"unknown":           {tries: []func(jet.Stream, jet.Publish) (jet.Ack, error){unknown}, want: botmesh.ErrUnknown},
		"too large":         {tries: []func(jet.Stream, jet.Publish) (jet.Ack, error){tooLarge}, want: botmesh.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := jet.NewMemory()
				j := openMemory(t, server, "e1")
				n := 0
				f := &faulty{Stream: j.inbox}
				f.publish = func(_ context.Context, p jet.Publish) (jet.Ack, error) {
					try := c.tries[min(n, len(c.tries)-1)]
					n++
					return try(f.Stream, p)
				}
				j.inbox = f
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := j.Publish(ctx, message(chat("1"), "1", "hi"))
				if !errors.Is(err, c.want) || c.not != nil && errors.Is(err, c.not) {
					t.Errorf("got %v, want %v and not %v", err, c.want, c.not)
				}
				if (c.want == nil || name == "too large") && n != len(c.tries) {
					t.Errorf("got %d tries, want %d", n, len(c.tries))
				}
				if got := len(texts(t, j, chat("1"), 0)); got != c.kept {
					t.Errorf("got %d records, want %d", got, c.kept)
				}
			})
		})
	}
}

// SPEC: J3 J4
func TestPublishAllKeepsTheOrderOfAChat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := openMemory(t, jet.NewMemory(), "e1")
		var mu sync.Mutex
		tries := map[string]int{}
		f := &faulty{Stream: j.inbox}
		f.publish = func(ctx context.Context, p jet.Publish) (jet.Ack, error) {
			id := p.Header.Get(headerMsgID)
			mu.Lock()
			tries[id]++
			first := tries[id] == 1
			mu.Unlock()
			if first && len(id)%2 == 0 { // some are slow and refused at first: a later one must not overtake
				return jet.Ack{}, botmesh.ErrRefused
			}
			return f.Stream.Publish(ctx, p)
		}
		j.inbox = f
		var records []botmesh.Record
		want := map[botmesh.ChatKey][]string{}
		for i := range 300 {
			c := chat(fmt.Sprint(i % 7))
			text := fmt.Sprint(i)
			records = append(records, message(c, text, text))
			want[c] = append(want[c], text)
		}
		placed, err := j.PublishAll(t.Context(), records)
		if err != nil {
			t.Fatal(err)
		}
		for c, said := range want {
			if diff := cmp.Diff(said, texts(t, j, c, 0)); diff != "" {
				t.Errorf("chat %s (-want +got):\n%s", c, diff)
			}
		}
		for i, p := range placed {
			e, err := j.Read(t.Context(), records[i].Chat, p.Seq-1, 1)
			if err != nil || len(e) != 1 || e[0].Record.ID != records[i].ID {
				t.Errorf("place of record %d: got %v and %v, want its own", i, e, err)
			}
		}
	})
}

// SPEC: J3
func TestPublishAllRepeatedRepairsAndDoublesNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := openMemory(t, jet.NewMemory(), "e1")
		down := true
		f := &faulty{Stream: j.inbox}
		f.publish = func(ctx context.Context, p jet.Publish) (jet.Ack, error) {
			if down && p.Subject == subjectOf(familyIn, testBot, chat("bad")) && p.Header.Get(headerMsgID) != "demo:telegram:b1" {
				return jet.Ack{}, botmesh.ErrRefused
			}
			return f.Stream.Publish(ctx, p)
		}
		j.inbox = f
		records := []botmesh.Record{
			message(chat("bad"), "b1", "1"), message(chat("good"), "g1", "1"),
			message(chat("bad"), "b2", "2"), message(chat("bad"), "b3", "3"), message(chat("good"), "g2", "2"),
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := j.PublishAll(ctx, records); !errors.Is(err, botmesh.ErrRefused) {
			t.Fatalf("got %v, want ErrRefused", err)
		}
		if got := texts(t, j, chat("bad"), 0); !slices.Equal(got, []string{"1"}) {
			t.Errorf("got %q, want nothing after the refused one", got)
		}
		down = false
		placed, err := j.PublishAll(t.Context(), records)
		if err != nil {
			t.Fatal(err)
		}
		var duplicates []bool
		for _, p := range placed {
			duplicates = append(duplicates, p.Duplicate)
		}
		if want := []bool{true, true, false, false, true}; !slices.Equal(duplicates, want) {
			t.Errorf("duplicates: got %v, want %v", duplicates, want)
		}
		if got := texts(t, j, chat("bad"), 0); !slices.Equal(got, []string{"1", "2", "3"}) {
			t.Errorf("got %q, want each once", got)
		}
		if got := texts(t, j, chat("good"), 0); !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("got %q, want each once", got)
		}
	})
}

func TestPublishAllSendsNothingIfARecordIsInvalid(t *testing.T) {
	t.Parallel()
	j := openMemory(t, jet.NewMemory(), "e1")
	_, err := j.PublishAll(t.Context(), []botmesh.Record{message(chat("1"), "1", "hi"), message(chat("1"), "", "hi")})
	if !errors.Is(err, ErrInvalid) {
		t.Fatalf("got %v, want ErrInvalid", err)
	}
	if got := texts(t, j, chat("1"), 0); len(got) != 0 {
		t.Errorf("got %q, want nothing", got)
	}
}

// SPEC: W1
func TestARecordKeepsItsTrace(t *testing.T) {
	t.Parallel()
	const ours, theirs = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"
	j := openMemory(t, jet.NewMemory(), "e1")
	in := func(parent string) context.Context {
		return telemetry.Extract(t.Context(), map[string]string{"traceparent": parent})
	}
	for i, c := range []struct {
		ctx    context.Context
		record string
		want   string
	}{{t.Context(), ours, ours}, {in(ours), "", ours}, {in(ours), theirs, ours}, {t.Context(), "", ""}, {t.Context(), "x\r\ny: z", ""}} {
		r := message(chat("1"), fmt.Sprint(i), "hi")
		r.Trace = map[string]string{"traceparent": c.record}
		placed, err := j.Publish(c.ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := j.Read(t.Context(), r.Chat, placed.Seq-1, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := entries[0].Record.Trace["traceparent"]; got != c.want {
			t.Errorf("case %d: got %q, want %q", i, got, c.want)
		}
	}
}

func TestAPublisherLooksAtNothing(t *testing.T) { // SPEC: X3
	t.Parallel()
	// A nil stream inside panics on every call but Publish.
	only := &faulty{publish: func(context.Context, jet.Publish) (jet.Ack, error) { return jet.Ack{Seq: 3}, nil }}
	p, err := NewPublisher(Config{Bot: testBot, Inbox: only})
	if err != nil {
		t.Fatal(err)
	}
	if got := mustPublish(t, p, message(chat("1"), "1", "hi")); got.Seq != 3 {
		t.Errorf("got %+v, want place 3", got)
	}
}
