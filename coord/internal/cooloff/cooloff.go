// Package cooloff remembers names that a coordinator leaves to others for a while.
//
// It is shared by the coordinators, so that a leader that steps down stands aside in
// the same way in each of them.
package cooloff

import (
	"context"
	"sync"
	"time"
)

// Names are the names that cool off. The zero value is ready to use. Safe for
// concurrent use.
type Names struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// Add lets a name cool off for d, from now on, and forgets those whose time is over.
func (n *Names) Add(name string, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.until == nil {
		n.until = map[string]time.Time{}
	}
	n.until[name] = time.Now().Add(d)
	for name, until := range n.until {
		if time.Until(until) <= 0 {
			delete(n.until, name)
		}
	}
}

// Left is how long a name still cools off, zero or less if it does not.
func (n *Names) Left(name string) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Until(n.until[name])
}

// Wait waits until a name has cooled off, or closed is. It returns the context's
// cause if that ends first.
func (n *Names) Wait(ctx context.Context, name string, closed <-chan struct{}) error {
	timer := time.NewTimer(n.Left(name))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-closed:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
