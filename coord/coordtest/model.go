package coordtest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/botmesh-go/botmesh/coord"
)

// testModel plays random takes, releases and withdrawals of one key against a
// line that is a sorted slice.
func testModel(t *testing.T, f Fleet) {
	replicas := []coord.Coordinator{f.Join(t, coord.Config{}), f.Join(t, coord.Config{}), f.Join(t, coord.Config{})}
	keys := 0
	rapid.Check(t, func(rt *rapid.T) {
		keys++
		m := &model{t: t, rt: rt, replicas: replicas, key: "key-" + strconv.Itoa(keys)}
		rt.Repeat(map[string]func(*rapid.T){"take": m.take, "release": m.release, "withdraw": m.withdraw, "": m.check})
		m.end()
	})
}

// model is what one key's line should be.
type model struct {
	t        *testing.T
	rt       *rapid.T
	replicas []coord.Coordinator
	key      string

	holder  coord.Turn
	owner   coord.Coordinator
	before  coord.Previous
	fence   uint64
	arrived int
	line    []*place
}

// place is a ticket in line.
type place struct {
	coord.Request
	owner   coord.Coordinator
	order   uint64
	arrival int
	cancel  context.CancelFunc
	result  <-chan outcome
}

func (m *model) take(rt *rapid.T) {
	if len(m.line) > 8 {
		rt.Skip("the line is long")
	}
	p := &place{owner: rapid.SampledFrom(m.replicas).Draw(rt, "replica")}
	p.Request = coord.Request{
		Key:   m.key,
		Place: rapid.Uint64Range(0, 12).Draw(rt, "place"),
		Floor: rapid.SampledFrom([]uint64{0, m.fence + 5}).Draw(rt, "floor"),
	}
	if m.holder == nil {
		turn, err := p.owner.Take(m.t.Context(), p.Request)
		m.grant(p, outcome{turn, err})
		return
	}
	ctx, cancel := context.WithCancel(m.t.Context())
	p.cancel, p.result = cancel, queue(ctx, m.t, p.owner, p.Request)
	m.arrived++
	p.order, p.arrival = p.Place, m.arrived
	if p.Place == 0 && len(m.line) > 0 {
		p.order = m.line[len(m.line)-1].order
	}
	m.line = append(m.line, p)
	slices.SortFunc(m.line, func(a, b *place) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.arrival, b.arrival))
	})
}

// grant checks a turn that must have come.
func (m *model) grant(p *place, got outcome) {
	if got.err != nil {
		m.rt.Fatalf("taking %d: %v", p.Place, got.err)
	}
	if got.turn.Fence() <= max(m.fence, p.Floor) {
		m.rt.Errorf("got fence %d, want more than %d and the floor %d", got.turn.Fence(), m.fence, p.Floor)
	}
	if got.turn.Previous() != m.before {
		m.rt.Errorf("got previous %+v, want %+v", got.turn.Previous(), m.before)
	}
	want := coord.Waiting{Tickets: len(m.line), Highest: p.Place}
	for _, w := range m.line {
		want.Highest = max(want.Highest, w.Place)
	}
	if got.turn.Waiting() != want {
		m.rt.Errorf("got waiting %+v, want %+v", got.turn.Waiting(), want)
	}
	m.holder, m.owner, m.fence = got.turn, p.owner, got.turn.Fence()
}

func (m *model) release(rt *rapid.T) {
	if m.holder == nil {
		rt.Skip("nobody holds the key")
	}
	passed := rapid.SampledFrom([]uint64{0, 0, 3, 6, 9}).Draw(rt, "passed")
	if err := m.holder.Release(m.t.Context(), passed); !given(err) {
		rt.Fatalf("releasing: %v", err)
	}
	m.before = coord.Previous{Incarnation: m.owner.Incarnation(), Released: true, Passed: max(m.before.Passed, passed)}
	m.holder = nil
	m.line = slices.DeleteFunc(m.line, func(p *place) bool {
		gone := p.Place > 0 && p.Place <= passed
		if gone {
			var why *coord.PassedError
			if got := await(m.t, p.result); !errors.As(got.err, &why) || why.Passed != passed {
				rt.Fatalf("place %d: got %+v, want passed %d", p.Place, got, passed)
			}
			p.cancel()
		}
		return gone
	})
	if len(m.line) > 0 {
		next := m.line[0]
		m.line = m.line[1:]
		m.grant(next, await(m.t, next.result))
		next.cancel()
	}
}

func (m *model) withdraw(rt *rapid.T) {
	if len(m.line) == 0 {
		rt.Skip("nobody waits")
	}
	i := rapid.IntRange(0, len(m.line)-1).Draw(rt, "waiter")
	m.line[i].cancel()
	if got := await(m.t, m.line[i].result); !errors.Is(got.err, context.Canceled) {
		rt.Fatalf("a withdrawn Take: got %+v, want canceled", got)
	}
	m.line = slices.Delete(m.line, i, i+1)
}

// check finds nobody granted, passed or lost that should not be.
func (m *model) check(rt *rapid.T) {
	for _, p := range m.line {
		select {
		case got := <-p.result:
			rt.Fatalf("place %d: got %+v out of turn", p.Place, got)
		default:
		}
	}
	if m.holder != nil && m.holder.Context().Err() != nil {
		rt.Fatalf("the holder's turn ended: %v", context.Cause(m.holder.Context()))
	}
}

// end empties the line.
func (m *model) end() {
	for _, p := range m.line {
		p.cancel()
		await(m.t, p.result)
	}
	if m.holder != nil {
		m.holder.Release(m.t.Context(), 0)
	}
}
