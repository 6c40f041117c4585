package flow

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/botmesh-go/botmesh"
)

// MaxLives bounds the live conversations that wait in a process. Of more the one that waits
// for longest is lost.
const MaxLives = 10_000

// grace is how long after its patience a conversation is ended that nobody has asked for:
// its chat is in another process then.
const grace = time.Minute

// Waiting is what is kept of a live conversation while it waits: enough to know it again.
type Waiting struct {
	ID    string `json:"id"`
	Turns uint64 `json:"turns"` // that ended with a question
}

// Lives are the live conversations that wait in a process. They take no part in what a
// commit decides: one whose last turn was not committed does not fit the position that is
// kept, and is ended when its chat comes up. It is for those who run bots. Safe for
// concurrent use.
type Lives struct {
	crashed func(chat botmesh.ChatKey, c *Crash)

	mu     sync.Mutex
	parked *simplelru.LRU[botmesh.ChatKey, *talk]
	closed bool
	ending int
	none   *sync.Cond // ending is 0
}

// NewLives makes room for the conversations of a process. crashed hears of those that
// panic when they are ended; what happens within a turn the turn tells.
func NewLives(crashed func(chat botmesh.ChatKey, c *Crash)) *Lives {
	parked, err := simplelru.NewLRU[botmesh.ChatKey, *talk](MaxLives, nil)
	if err != nil {
		panic(err) // the size is above zero
	}
	l := &Lives{crashed: crashed, parked: parked}
	l.none = sync.NewCond(&l.mu)
	return l
}

// Len is how many wait.
func (l *Lives) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.parked.Len()
}

// Close ends all that wait and any that would from now on, and returns when their functions
// have or the context ends, with its cause.
func (l *Lives) Close(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for l.parked.Len() > 0 {
		_, k, _ := l.parked.GetOldest()
		l.removeLocked(k)
		l.endLocked(k)
	}
	defer context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.none.Broadcast()
	})()
	for l.ending > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		l.none.Wait()
	}
	return nil
}

// Live says where the turn's live conversations wait, nil for nowhere, and what is kept of
// the chat. One that this process has of it and that does not wait at p is ended.
func (t *Turn) Live(in *Lives, p *Position) {
	t.lives = in
	if in == nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if k, ok := in.parked.Peek(t.Chat()); ok && (p == nil || !k.waitsAt(*p)) {
		in.removeLocked(k)
		in.endLocked(k)
	}
}

func (k *talk) waitsAt(p Position) bool {
	return p.Flow == k.of.name && p.Live != nil && *p.Live == Waiting{k.id, k.turns}
}

// park keeps a conversation that has asked, unless its turn has ended without effect by now.
func (l *Lives) park(turn context.Context, k *talk) {
	if l == nil {
		if k.end(); k.crashed != nil { // nobody would ever go on with it
			panic(k.crashed)
		}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || turn.Err() != nil {
		l.endLocked(k)
		return
	}
	if before, ok := l.parked.Peek(k.chat); ok {
		l.removeLocked(before)
		l.endLocked(before)
	}
	if l.parked.Len() == MaxLives {
		_, oldest, _ := l.parked.GetOldest()
		l.removeLocked(oldest)
		l.endLocked(oldest)
	}
	l.parked.Add(k.chat, k)
	turns := k.turns
	k.idle = time.AfterFunc(k.of.waits()+grace, func() { l.forget(k, turns) })
}

// take hands out the conversation that waits at p, which is the caller's then.
func (l *Lives) take(chat botmesh.ChatKey, p Position) *talk {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	k, ok := l.parked.Peek(chat)
	if !ok || !k.waitsAt(p) {
		return nil
	}
	l.removeLocked(k)
	return k
}

// open is the question of the conversation that waits at p.
func (l *Lives) open(chat botmesh.ChatKey, p Position) (asking, bool) {
	if l == nil {
		return asking{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	k, ok := l.parked.Peek(chat)
	if !ok || !k.waitsAt(p) {
		return asking{}, false
	}
	return k.open, true
}

// drop ends the conversation that waits at p, if it is here.
func (l *Lives) drop(chat botmesh.ChatKey, p Position) {
	if k := l.take(chat, p); k != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.endLocked(k)
	}
}

// forget ends one whose question is still the one after turns: a clock may have fired and
// come to this only when its question was answered and the next one asked.
func (l *Lives) forget(k *talk, turns uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now, ok := l.parked.Peek(k.chat); ok && now == k && k.turns == turns {
		l.removeLocked(k)
		l.endLocked(k)
	}
}

func (l *Lives) removeLocked(k *talk) {
	k.idle.Stop()
	l.parked.Remove(k.chat)
}

// endLocked ends a conversation that was taken out, beside the caller: its function may take
// its time.
func (l *Lives) endLocked(k *talk) {
	l.ending++
	go func() {
		defer func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.ending--; l.ending == 0 {
				l.none.Broadcast()
			}
		}()
		k.end()
		if k.crashed != nil && l.crashed != nil {
			l.crashed(k.chat, k.crashed)
		}
	}()
}
