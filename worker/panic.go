package worker

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/botmesh-go/botmesh/flow"
)

// maxFrames bounds the calls that a PanicError names.
const maxFrames = 6

// PanicError is a handler's panic. Its text says where, and what if the runtime
// raised it; a value of the handler's own may hold what a user wrote, so only its
// type is told.
type PanicError struct {
	What  string // a runtime error's text, or the type of another value
	Where string // the innermost calls, innermost first
	Stack string // the whole stack, for the log
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("worker: handler panicked: %s at %s", e.What, e.Where)
}

// caught makes the error of a recovered panic. It is called by the function that
// recovered.
func caught(v any) *PanicError {
	e := &PanicError{Stack: string(debug.Stack())}
	var pcs [64]uintptr
	calls := pcs[:runtime.Callers(2, pcs[:])]
	if c, ok := v.(*flow.Crash); ok { // of a goroutine of its own
		v, e.Stack, calls = c.Value, c.Stack, c.Calls
	}
	e.What, e.Where = fmt.Sprintf("a value of type %T", v), where(calls)
	if err, ok := v.(runtime.Error); ok {
		e.What = err.Error()
	}
	return e
}

// where names the calls between the panic and this package, or package flow's goroutine.
func where(pcs []uintptr) string {
	frames := runtime.CallersFrames(pcs)
	var calls []string
	panicking := false
	for {
		f, more := frames.Next()
		internal := strings.HasPrefix(f.Function, "runtime.")
		if panicking && !internal {
			calls = append(calls, fmt.Sprintf("%s:%d", f.Function, f.Line))
		}
		panicking = panicking || internal
		if !more || len(calls) == maxFrames || panicking && (strings.HasSuffix(f.Function, ".(*Worker).Run") || strings.HasSuffix(f.Function, "flow.(*talk).run")) {
			return strings.Join(calls, " < ")
		}
	}
}
