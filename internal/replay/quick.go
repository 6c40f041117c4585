package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/journal"
)

var (
	_ botmesh.Meanwhile = (*midway)(nil)
	_ botmesh.Settler   = (*midway)(nil)
)

// longestLook is how long a run that gathers what is said in quick succession waits at
// once, and a bit. One that waits longer is a handler at work.
const longestLook = 3 * time.Second

var errNoClock = errors.New("replay: nobody knows how long a handler ran, so that nothing interrupts it")

// quick is what came in quick succession of a record, by the journal's times.
type quick struct {
	ahead  []journal.Entry // not given to the run yet
	given  []botmesh.Record
	passed time.Time // up to which the run has waited
	// skip reports whether a record is a repetition, shut whether it has no effect.
	skip, shut func(botmesh.Record) bool
}

// next is the next record, if the run that waits for so long had seen it come.
func (q *quick) next(wait time.Duration) (botmesh.Record, bool) {
	until := q.passed.Add(wait)
	for len(q.ahead) > 0 && len(q.given) < botmesh.MaxAlso {
		e := q.ahead[0]
		repeated := e.Err == nil && (q.skip(e.Record) || slices.ContainsFunc(q.given, func(r botmesh.Record) bool { return r.ID == e.Record.ID }))
		switch r := e.Record; {
		case repeated:
			q.ahead = q.ahead[1:]
			continue
		case e.Err != nil, r.Type != botmesh.TypeMessage && r.Type != botmesh.TypeCallback, q.shut(r):
			q.ahead = nil // nothing behind it is looked at
		case !r.Stored.After(until):
			q.ahead, q.given, q.passed = q.ahead[1:], append(q.given, r), r.Stored
			return r, true
		}
		break
	}
	q.passed = until
	return botmesh.Record{}, false
}

// through are the given records that a run has dealt with, up to seq.
func (q *quick) through(seq uint64) ([]botmesh.Record, error) {
	if seq == 0 {
		return nil, nil
	}
	i := slices.IndexFunc(q.given, func(r botmesh.Record) bool { return r.Seq == seq })
	if i < 0 {
		return nil, fmt.Errorf("replay: Outcome.Through is %d, which is none of the records that the run was given", seq)
	}
	return q.given[:i+1], nil
}

// Next implements [botmesh.Meanwhile]: without waiting for what the journal knows. What a
// handler would have heard while it was at work it does not hear.
func (m *midway) Next(ctx context.Context) (botmesh.Record, error) {
	until, short := ctx.Deadline()
	wait := time.Until(until)
	if !short || wait > longestLook {
		m.heeds.Store(true)
		<-ctx.Done()
		return botmesh.Record{}, context.Cause(ctx)
	}
	if r, ok := m.quick.next(wait); ok {
		return r, nil
	}
	return botmesh.Record{}, context.DeadlineExceeded
}

// Interrupt implements [botmesh.Meanwhile].
func (m *midway) Interrupt(context.Context) error { return errNoClock }
