package bot

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/botmesh-go/botmesh/flow"
)

// State names a value that plain handlers keep for each chat. States are
// constants:
//
//	const visits bot.State[int] = "visits"
//
// The name is stored, so it must not change while chats keep values, and a bot
// uses it with one type.
type State[T any] string

// Of returns the chat's value, zero at first. What the handler leaves in it is
// kept if the run ends well; the zero value is not stored at all.
//
// If the stored value can not be read the run has no effect, whatever the handler
// returns, and the chat waits for a build that can: [flow.ErrStranded]. If T has parts that
// can not be kept (see [flow.Schema]), the run fails when the handler returns.
func (s State[T]) Of(c *Context) *T {
	v := c.values
	if p, ok := v.open[string(s)]; ok {
		if p, ok := p.(*T); ok {
			return p
		}
		v.fail("bot: state %q is used as %s and as %T", s, reflect.TypeFor[T](), p)
		return new(T)
	}
	p := new(T)
	v.open[string(s)] = p
	if err := schemaOf(reflect.TypeFor[T]()); err != nil {
		v.fail("bot: state %q can not be kept: %w", s, err)
	} else if raw, ok := v.stored[string(s)]; ok {
		if err := json.Unmarshal(raw, p); err != nil {
			v.fail("%w: state %q can not be read: %w", flow.ErrStranded, s, flow.Unread(err))
		}
	}
	return p
}

// values are a chat's stored values, and those that the run has in hand.
type values struct {
	stored map[string]json.RawMessage
	open   map[string]any // pointers
	err    error
}

func newValues(stored map[string]json.RawMessage) *values {
	if stored == nil {
		stored = map[string]json.RawMessage{}
	}
	return &values{stored: stored, open: map[string]any{}}
}

// fail keeps the first error, for the end of the run.
func (v *values) fail(format string, args ...any) {
	if v.err == nil {
		v.err = fmt.Errorf(format, args...)
	}
}

// encode returns what is to be stored after the run.
func (v *values) encode() (map[string]json.RawMessage, error) {
	if v.err != nil {
		return nil, v.err
	}
	for _, name := range slices.Sorted(maps.Keys(v.open)) {
		if reflect.ValueOf(v.open[name]).Elem().IsZero() {
			delete(v.stored, name)
			continue
		}
		raw, err := json.Marshal(v.open[name])
		if err != nil {
			return nil, fmt.Errorf("bot: state %q can not be encoded: %w", name, err)
		}
		v.stored[name] = raw
	}
	return v.stored, nil
}

var schemas sync.Map // reflect.Type to what is wrong with it

func schemaOf(t reflect.Type) error {
	if known, ok := schemas.Load(t); ok {
		err, _ := known.(error)
		return err
	}
	_, err := flow.Schema(t)
	schemas.Store(t, err)
	return err
}
