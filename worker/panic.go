package worker

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
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
	e := &PanicError{What: fmt.Sprintf("a value of type %T", v), Where: where(), Stack: string(debug.Stack())}
	if err, ok := v.(runtime.Error); ok {
		e.What = err.Error()
	}
	return e
}

// where names the calls between the panic and this package.
func where() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	var calls []string
	panicking := false
	for {
		f, more := frames.Next()
		internal := strings.HasPrefix(f.Function, "runtime.")
		if panicking && !internal {
			calls = append(calls, fmt.Sprintf("%s:%d", f.Function, f.Line))
		}
		panicking = panicking || internal
		if !more || len(calls) == maxFrames || strings.HasSuffix(f.Function, ".(*Worker).Run") && panicking {
			return strings.Join(calls, " < ")
		}
	}
}
