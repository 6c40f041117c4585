package provider

import (
	"errors"
	"time"

	"github.com/botmesh-go/botmesh"
)

// Rate is how many calls a platform allows: Burst at once, and one more in every
// Every. In any time t it allows Burst + t/Every. The zero Rate allows all.
type Rate struct {
	Every time.Duration
	Burst int
}

// IsZero reports whether r allows all.
func (r Rate) IsZero() bool { return r.Every <= 0 }

// Limits are how many calls a platform allows.
type Limits struct {
	// Address is what the platform counts as one chat: its own, whoever takes part
	// in it and whatever thread of it is meant. Empty for the chat of the chat key.
	Address string
	// Chat is for each address, Account for all of one account.
	Chat, Account Rate
}

// Limited is implemented by a Sender whose platform says how many calls it allows.
// Over them a part is put off, not called.
type Limited interface {
	// Limits is asked before each call, and is the same for all participants of a
	// chat. It does no I/O.
	Limits(chat botmesh.ChatKey) Limits
}

// RetryAll is [Retry] for an answer that concerns the whole account: the platform
// takes nothing else from it before after has passed either.
func RetryAll(err error, after time.Duration) error {
	return &callError{err: err, after: after, all: true}
}

// IsAll reports whether err was made by [RetryAll].
func IsAll(err error) bool {
	var e *callError
	return errors.As(err, &e) && e.all
}
