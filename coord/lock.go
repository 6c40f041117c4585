package coord

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Locker hands out locks. There is no lock without a fence: whoever stalls past
// its lock finds out too late, and what it writes must be refused by its fence.
// Keys are apart from those of turns and leaders. Both coordinators of this
// module implement it. Safe for concurrent use.
//
// A lock is not tied to the process that took it. It is not renewed by itself,
// any process may renew or release it by its token, and it ends after its ttl,
// whatever becomes of its owner. What is known of it when it has ended is forgotten
// in time, as of a turn.
type Locker interface {
	// AcquireLockFenced takes a lock for ttl, counted from before the call; from 1ms
	// to a day. It does not wait. It returns [ErrHeld] if another holds it, and
	// botmesh.ErrCoordinationUnavailable if Redis is away; what a call without an
	// answer may have obtained is given back.
	AcquireLockFenced(ctx context.Context, key string, ttl time.Duration) (Lock, error)

	// RenewLock lets a lock last ttl from now. It returns a *botmesh.LeaseLostError
	// if the token does not hold it any more, and botmesh.ErrUnknown or ErrRefused
	// if there was no answer, the context has ended or the coordinator is closed; it
	// may be repeated.
	RenewLock(ctx context.Context, key, token string, ttl time.Duration) error

	// ReleaseLock gives a lock up, also if ctx has ended. It returns a
	// *botmesh.LeaseLostError if the token did not hold it any more. After
	// botmesh.ErrUnknown or ErrRefused it is repeated in the background for a while,
	// and once more by Close; when the coordinator is closed it does nothing and
	// returns ErrRefused. Whatever fails, the lock ends after its ttl.
	ReleaseLock(ctx context.Context, key, token string) error
}

// Lock is a lock that was taken.
type Lock struct {
	Key string
	// Token proves that a caller holds the lock. It begins with the incarnation
	// that took it.
	Token string
	// Fence grows with every acquisition of the key. What is written under the lock
	// carries it, and is refused where a higher one was seen.
	Fence uint64
}

// maxTTL bounds how long a dead owner can hold a lock.
const maxTTL = 24 * time.Hour

// ValidateLock says what is wrong with a lock's key and ttl, or nil.
func ValidateLock(key string, ttl time.Duration) error {
	switch {
	case key == "":
		return errors.New("coord: a lock without a key")
	case ttl < time.Millisecond || ttl > maxTTL:
		return fmt.Errorf("coord: ttl %s of lock %s: want 1ms to %s", ttl, key, maxTTL)
	}
	return nil
}
