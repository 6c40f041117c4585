package jettest

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// until polls until ok, for half a minute at most.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// model runs random calls against the stream and against a list.
func model(t *testing.T, b *bench) {
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		m := &machine{t: t, b: b, prefix: b.prefix + strconv.Itoa(run) + "."}
		r.Repeat(map[string]func(*rapid.T){"publish": m.publish, "expect": m.expect, "last": m.last, "next": m.next, "remove": m.remove})
	})
}

type machine struct {
	t      *testing.T
	b      *bench
	prefix string
	all    []jet.Stored // what must be there, in order
	high   uint64
}

func (m *machine) subject(r *rapid.T) string {
	return m.prefix + rapid.SampledFrom([]string{"a", "b"}).Draw(r, "subject")
}

func (m *machine) of(subject string, from uint64) (first, last jet.Stored) {
	for _, s := range m.all {
		if s.Subject != subject || s.Seq < from {
			continue
		}
		if first.Seq == 0 {
			first = s
		}
		last = s
	}
	return first, last
}

func (m *machine) add(r *rapid.T, p jet.Publish) {
	ack, err := win(func() (jet.Ack, error) { return m.b.Publish(m.t.Context(), p) })
	if err != nil || ack.Seq <= m.high || ack.Duplicate {
		r.Fatalf("publish: got %+v, %v, want a sequence over %d", ack, err, m.high)
	}
	m.high = ack.Seq
	m.all = append(m.all, jet.Stored{Msg: p.Msg, Seq: ack.Seq})
}

func (m *machine) publish(r *rapid.T) {
	m.add(r, jet.Publish{Msg: jet.Msg{Subject: m.subject(r), Data: []byte(rapid.StringN(0, 4, 8).Draw(r, "data"))}})
}

func (m *machine) expect(r *rapid.T) {
	p := jet.Publish{Msg: jet.Msg{Subject: m.subject(r)}}
	_, last := m.of(p.Subject, 0)
	wrong := rapid.SampledFrom([]uint64{0, 0, 1, 5}).Draw(r, "wrong")
	want := last.Seq + wrong
	p.Expect = &want
	if wrong == 0 {
		m.add(r, p)
		return
	}
	if ack, err := m.b.Publish(m.t.Context(), p); !errors.Is(err, botmesh.ErrConflict) {
		r.Fatalf("publish expecting %d when the last is %d: got %+v, %v, want ErrConflict", want, last.Seq, ack, err)
	}
}

func (m *machine) last(r *rapid.T) {
	subject := m.subject(r)
	_, want := m.of(subject, 0)
	got, err := m.b.Last(m.t.Context(), subject)
	same(r, "last", got, err, want)
}

func (m *machine) next(r *rapid.T) {
	subject := m.subject(r)
	from := m.high - min(m.high, uint64(rapid.IntRange(-1, 10).Draw(r, "back")+1))
	want, _ := m.of(subject, from)
	got, err := m.b.Next(m.t.Context(), subject, from)
	same(r, "next", got, err, want)
}

func (m *machine) remove(r *rapid.T) {
	if len(m.all) == 0 {
		r.Skip()
	}
	i := rapid.IntRange(0, len(m.all)-1).Draw(r, "which")
	m.b.DeleteMessage(m.t, m.b.Name(), m.all[i].Seq)
	m.all = append(m.all[:i:i], m.all[i+1:]...)
}

func same(r *rapid.T, name string, got jet.Stored, err error, want jet.Stored) {
	switch {
	case want.Seq == 0 && !errors.Is(err, botmesh.ErrNotFound):
		r.Fatalf("%s: got %+v, %v, want ErrNotFound", name, got, err)
	case want.Seq > 0 && (err != nil || got.Seq != want.Seq || string(got.Data) != string(want.Data)):
		r.Fatalf("%s: got %+v, %v, want %+v", name, got, err, want)
	}
}
