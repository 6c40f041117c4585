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

// copies keeps the checkpoints of the chats served last.
type copies struct {
	mu  sync.Mutex
	lru *simplelru.LRU[string, chatCopy]
}

func newCopies(size int) *copies {
	lru, err := simplelru.NewLRU[string, chatCopy](size, nil)
	if err != nil {
		panic(err) // the size was validated
	}
	return &copies{lru: lru}
}

func (c *copies) get(key string) (chatCopy, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Get(key)
}

func (c *copies) put(key string, v chatCopy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Add(key, v)
}

func (c *copies) drop(key string) {
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
