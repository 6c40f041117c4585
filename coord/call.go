package coord

import (
	"context"
	"fmt"
)

// Caller is a [Coordinator] through which replicas tell each other something, such as that a
// chat has work which only one of them can do. A call is a hint and may be lost: nothing but
// time may rest on it.
type Caller interface {
	// Call tells an incarnation something, up to MaxCall bytes. Without an error it was
	// sent, which is not to say that anybody heard it; with one it may have been.
	Call(ctx context.Context, incarnation, message string) error
	// Heed makes hear take what others tell this incarnation from now on, instead of what did
	// before. It is called from one goroutine at a time and must not block.
	Heed(hear func(message string))
}

// MaxCall bounds a call, in bytes.
const MaxCall = 4 << 10

// CheckCall says what is wrong with a call, or nil. It is for those who implement Caller.
func CheckCall(message string) error {
	if len(message) > MaxCall {
		return fmt.Errorf("coord: a call of %d bytes, want at most %d", len(message), MaxCall)
	}
	return nil
}
