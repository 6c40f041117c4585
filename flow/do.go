package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/botmesh-go/botmesh"
)

// InTurn is a [Turn] or what has one: [C], [Talk], the context of a plain handler.
type InTurn interface{ turn() *Turn }

// Do does something outside the conversation, a payment or a look at a clock, and
// records what it came to, so that a run that is repeated, or a script that runs
// again, gets the result and does not do it twice.
//
// The result is recorded with a commit of its own, before Do returns. If the
// process dies between fn's effect and that commit, fn is called again, with the
// same key: a service that takes an idempotency key has seen it. An error of fn is
// not recorded. Whoever gets an error returns it; what may fail for good is a
// result that says so. Where a run is only compared with an earlier one (replay --against)
// nothing is done, and Do fails.
//
// The name tells results of one handler apart, and those of one name are told apart
// by their order. R must survive encoding; see [Schema].
func Do[R any](c InTurn, name string, fn func(ctx context.Context, key string) (R, error)) (R, error) {
	var result R
	t := c.turn()
	call, raw, err := t.recall(name, reflect.TypeFor[R]())
	if err != nil {
		return result, err
	}
	if raw != nil && json.Unmarshal(raw, &result) == nil {
		t.record(call, raw)
		return result, nil
	}
	// What is recorded in a form that this build can not read is done again.
	if outside, ok := t.midway.(botmesh.Outside); ok {
		if err := outside.MayDo(name); err != nil {
			return result, t.stop(fmt.Errorf("do %q: %w", name, err))
		}
	}
	result, err = fn(t.ctx, t.idempotencyKey(call))
	if err != nil {
		return result, t.stop(fmt.Errorf("do %q: %w", name, err))
	}
	if raw, err = json.Marshal(result); err != nil {
		return result, t.stop(fmt.Errorf("do %q: encoding the result: %w", name, err))
	}
	if err := t.keep(call, raw); err != nil {
		return result, t.stop(fmt.Errorf("do %q: keeping the result: %w", name, err))
	}
	t.record(call, raw)
	return result, nil
}

// doing is what the runs of a record have done so far.
type doing struct {
	results map[string]json.RawMessage // kept, by id; nil until they are read
	calls   map[string]int             // of this run, by name
	script  *script                    // whose step runs, nil if no script does
	heard   *botmesh.Message           // what Before made of the message, nil before that
	early   bool                       // Before runs: what it does has names of its own
	stale   bool                       // the message came too late
}

// doCall is one call of Do.
type doCall struct {
	id    string // within the runs of the record
	local string // within the script step, empty outside one
}

// recall begins a call of Do and finds what it came to, in an earlier run of this
// record or, of a script, an earlier record.
func (t *Turn) recall(name string, result reflect.Type) (call doCall, raw json.RawMessage, err error) {
	s := t.doing.script
	switch {
	case t.ctx.Err() != nil:
		return call, nil, t.stop(context.Cause(t.ctx))
	case s != nil && s.stopped != nil:
		return call, nil, s.stopped
	case name == "":
		return call, nil, t.stop(errors.New("do without a name"))
	}
	if err := keepable(result); err != nil {
		return call, nil, t.stop(fmt.Errorf("do %q: the result can not be kept: %w", name, err))
	}
	if err := t.doing.read(t.run.Kept); err != nil {
		return call, nil, t.stop(err)
	}
	if t.doing.early {
		name = "before " + name
	}
	call.id = fmt.Sprintf("%s.%d", name, t.doing.calls[name])
	t.doing.calls[name]++
	raw = t.doing.results[call.id]
	if s != nil {
		call.local = s.doName(name)
		if past := s.past.Done[call.local]; past != nil {
			raw = past
		}
	}
	return call, raw, nil
}

// keep stores a result for the runs of this record.
func (t *Turn) keep(call doCall, raw json.RawMessage) error {
	t.doing.results[call.id] = raw
	return t.keepDoing()
}

// keepDoing stores what the runs of this record have done so far.
func (t *Turn) keepDoing() error {
	kept, err := json.Marshal(encodedDoing{doingVersion, t.doing.results, t.doing.heard, t.doing.stale})
	if err != nil {
		return err
	}
	return t.midway.Keep(t.ctx, kept)
}

// record makes a result one of the script that runs.
func (t *Turn) record(call doCall, raw json.RawMessage) {
	if s := t.doing.script; s != nil {
		s.done[call.local] = raw
	}
}

// stop makes err the end of the script that runs, if one does.
func (t *Turn) stop(err error) error {
	if s := t.doing.script; s != nil && s.stopped == nil {
		s.stopped, s.said = err, len(t.sends)
	}
	return err
}

// idempotencyKey is the same in every run of the record, and no other call has it.
func (t *Turn) idempotencyKey(call doCall) string {
	r := t.run.Record
	return botmesh.LetterID(r.Chat, r.Epoch, r.Seq) + "/" + call.id
}

// doingVersion is the newest version of what runs keep that this build reads, and
// the one it writes.
const doingVersion = 1

type encodedDoing struct {
	Version int                        `json:"v"`
	Done    map[string]json.RawMessage `json:"done"`
	Heard   *botmesh.Message           `json:"heard,omitempty"`
	Stale   bool                       `json:"stale,omitempty"`
}

// read reads what earlier runs kept, the first time it is called.
func (d *doing) read(kept []byte) error {
	if d.results != nil {
		return nil
	}
	var e encodedDoing
	if len(kept) > 0 {
		if err := json.Unmarshal(kept, &e); err != nil {
			return fmt.Errorf("reading what an earlier run kept: %w", err)
		}
		if e.Version != doingVersion {
			return fmt.Errorf("reading what an earlier run kept: version %d, want %d", e.Version, doingVersion)
		}
	}
	d.results, d.heard, d.calls = e.Done, e.Heard, map[string]int{}
	d.stale = d.stale || e.Stale
	if d.results == nil {
		d.results = map[string]json.RawMessage{}
	}
	return nil
}

var keepables sync.Map // reflect.Type to what is wrong with it

// keepable says what of a type would not survive encoding.
func keepable(t reflect.Type) error {
	if known, ok := keepables.Load(t); ok {
		err, _ := known.(error)
		return err
	}
	_, err := Schema(t)
	keepables.Store(t, err)
	return err
}
