package rediscoord

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
)

// scanCount is how many keys Redis looks at before it answers a step of List.
const scanCount = 1000

// Inspect implements [coord.Viewer]. Since is by this process's clock.
func (c *Coordinator) Inspect(ctx context.Context, kind coord.Kind, key string) (coord.View, error) {
	view, found, err := c.look(kind, key).wait(ctx)
	switch {
	case err != nil:
		return coord.View{}, fmt.Errorf("rediscoord: %s %s: %w", kind, key, unread(err))
	case !found:
		return coord.View{}, fmt.Errorf("rediscoord: %s %s: %w", kind, key, botmesh.ErrNotFound)
	}
	return view, nil
}

// Break implements [coord.Breaker].
func (c *Coordinator) Break(ctx context.Context, kind coord.Kind, key string, fence uint64) error {
	r, err := c.wires.do(ctx, c.lineCall(breakScript, c.names.key(kind, key), "", fence))
	if err == nil {
		_, err = r.status(1)
	}
	if err != nil {
		return fmt.Errorf("rediscoord: breaking %s %s: %w", kind, key, err)
	}
	return nil
}

// List implements [coord.Viewer].
func (c *Coordinator) List(ctx context.Context, kind coord.Kind) iter.Seq2[coord.View, error] {
	return func(yield func(coord.View, error) bool) {
		nodes, err := c.nodes(ctx)
		for _, node := range nodes {
			more := true
			if more, err = c.listNode(ctx, node, kind, yield); err != nil || !more {
				break
			}
		}
		if err != nil {
			yield(coord.View{}, fmt.Errorf("rediscoord: listing: %w", unread(err)))
		}
	}
}

// listNode shows what one server has. It reports whether the caller wants more.
func (c *Coordinator) listNode(ctx context.Context, node redis.Cmdable, kind coord.Kind, yield func(coord.View, error) bool) (bool, error) {
	for cursor, first := uint64(0), true; cursor > 0 || first; first = false {
		var found []string
		var err error
		if found, cursor, err = node.Scan(ctx, cursor, c.names.pattern(kind), scanCount).Result(); err != nil {
			return false, err
		}
		looks := make([]look, len(found))
		for i, hash := range found {
			looks[i] = c.look(kind, c.names.parse(kind, hash))
		}
		for _, l := range looks {
			view, found, err := l.wait(ctx)
			if err != nil {
				return false, err
			}
			if found && !view.Idle() && !yield(view, nil) {
				return false, nil
			}
		}
	}
	return true, nil
}

// nodes are the servers that keys are on.
func (c *Coordinator) nodes(ctx context.Context) ([]redis.Cmdable, error) {
	cluster, ok := c.cfg.Client.(*redis.ClusterClient)
	if !ok {
		return []redis.Cmdable{c.cfg.Client}, nil
	}
	var mu sync.Mutex
	var nodes []redis.Cmdable
	err := cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		nodes = append(nodes, node)
		return nil
	})
	return nodes, err
}

// look is a view of a key on its way.
type look struct {
	kind coord.Kind
	key  string
	call *call
}

// look asks for a view.
func (c *Coordinator) look(kind coord.Kind, key string) look {
	l := look{kind, key, c.lineCall(viewScript, c.names.key(kind, key), "")}
	c.wires.start(l.call)
	return l
}

// wait returns the view, and whether anything is known of the key.
func (l look) wait(ctx context.Context) (view coord.View, found bool, err error) {
	r, err := l.call.wait(ctx)
	if err != nil {
		return view, false, err
	}
	status, err := r.status(0, 1)
	if err != nil || status == 0 {
		return view, false, err
	}
	view = coord.View{
		Kind: l.kind, Key: l.key, Fence: r.number(1), Holder: owner(r.text(2)),
		Previous: coord.Previous{Incarnation: r.text(5), Released: r.number(6) == 1, Passed: r.number(7)},
	}
	if l.kind != coord.KindLock { // which no process has to live for
		view.Deaths = int(r.number(8))
	}
	if view.Holder != "" {
		view.Left = time.Duration(r.number(3)) * time.Millisecond
		view.Since = time.Now().Add(-time.Duration(r.number(4)) * time.Millisecond)
	}
	for i := 9; i+1 < len(r); i += 2 {
		view.Waiting = append(view.Waiting, coord.Ticket{Incarnation: owner(r.text(i)), Place: r.number(i + 1)})
	}
	return view, true, nil
}

// owner is the incarnation that a ticket or a lock's token is of.
func owner(ticket string) string {
	i := strings.LastIndexByte(ticket, '/')
	if i < 0 {
		return ticket
	}
	return ticket[:i]
}
