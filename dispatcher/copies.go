package dispatcher

import (
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/botmesh-go/botmesh/checkpoint"
)

// chatCopy is what a replica knows of a chat: the checkpoint as it was last read
// or written here. It is current only under a turn whose previous holder was this
// very incarnation; a stale one costs a lost compare-and-set and no more.
type chatCopy struct {
	row checkpoint.Row
	cp  checkpoint.Checkpoint
	// flushed says that the effects of row are confirmed; out is then the outbox
	// sequence of the chat's last letter.
	flushed bool
	out     uint64
	// own says that row was written by this replica.
	own bool
}

// latest keeps one thing of each of the chats served last.
type latest[V any] struct {
	mu  sync.Mutex
	lru *simplelru.LRU[string, V]
}

func newLatest[V any](size int) *latest[V] {
	lru, err := simplelru.NewLRU[string, V](size, nil)
	if err != nil {
		panic(err) // the size was validated
	}
	return &latest[V]{lru: lru}
}

func (c *latest[V]) get(key string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Get(key)
}

func (c *latest[V]) put(key string, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Add(key, v)
}

func (c *latest[V]) drop(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(key)
}

// nonces marks each checkpoint write of this incarnation.
type nonces struct {
	prefix string
	n      atomic.Uint64
}

func (n *nonces) next() string {
	return n.prefix + "/" + strconv.FormatUint(n.n.Add(1), 36)
}
