// Package limit bounds a run: by the worker's Settle, or by what the run itself says of
// the handler or step that it comes to. It knows no record and no turn.
package limit

import (
	"context"
	"sync"
	"time"
)

// Limit is how long one run may take. Safe for concurrent use.
type Limit struct {
	usual time.Duration
	began time.Time
	timer *time.Timer

	mu   sync.Mutex
	said time.Duration // zero until something is said
}

// Within returns a context that ends with cause when usual has passed, unless
// [Limit.Settle] says otherwise by then, the limit that can be told so, and what releases both.
func Within(ctx context.Context, usual time.Duration, cause error) (context.Context, *Limit, context.CancelFunc) {
	ctx, cut := context.WithCancelCause(ctx)
	l := &Limit{usual: usual, began: time.Now()}
	l.timer = time.AfterFunc(usual, func() { cut(cause) })
	return ctx, l, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.timer.Stop()
		cut(context.Canceled)
	}
}

// Settle implements [botmesh.Settler]. A run that was cut stays so.
func (l *Limit) Settle(d time.Duration) {
	if d <= 0 {
		d = l.usual
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if d > l.said && l.timer.Stop() { // of one that has fired or was stopped nothing is left
		l.said = d
		l.timer.Reset(time.Until(l.began.Add(d)))
	}
}
