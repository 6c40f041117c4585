package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// errTaken says that another's entry stands where ours was to go. Ownership is
// over, and what was owed is dropped.
var errTaken = errors.New("outbox: the chain is another's")

// ahead is how many parts an owner may have called beyond what the chain says:
// one delivered whose receipt is on its way, and the next one. On channels that
// hold it is what an attempt announces, one.
const ahead = 2

// chain is a chat's receipt chain as this process knows it, and what this process
// has to write to it. It outlives the tenures of the chat, so that what was
// called and could not be written is never called again for want of it.
type chain struct {
	o                 *Outbox
	chat              botmesh.ChatKey
	letters, receipts string // subjects

	// busy holds a token while a tenure works on what follows.
	busy  chan struct{}
	known bool
	last  link   // the end of the chain, as far as known
	seen  moment // when last was first read
	// mine says that last was written here and that nothing was called since that
	// is not owed. A read that shows our incarnation does not make it so.
	mine  bool
	began moment // when the first append of last began, if mine
	owed  []debt

	// Guarded by Outbox.mu.
	users int
	tail  appended
}

// appended is a letter that this process appended: its place, and that of the
// chat's letter before it.
type appended struct{ seq, prev uint64 }

// debt is an entry that is to be written next. Once made it does not change: it
// may be in the stream already.
type debt struct {
	entry
	data   []byte
	calls  int // of a claim: how many calls of a dead owner it takes as made
	sent   bool
	expect uint64
	began  moment
}

// use returns the chain of a chat, for as long as it is not released.
func (o *Outbox) use(chat botmesh.ChatKey) *chain {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.chainLocked(chat)
	if c.users == 0 {
		o.idle.Remove(chat)
		o.inUse[chat] = c
	}
	c.users++
	return c
}

func (o *Outbox) release(c *chain) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c.users--; c.users == 0 {
		delete(o.inUse, c.chat)
		o.idle.Add(c.chat, c)
	}
}

// appended remembers which letter came before one, so that a delivery from memory
// knows that it misses none.
func (o *Outbox) appended(chat botmesh.ChatKey, seq, prev uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.chainLocked(chat).tail = appended{seq, prev}
}

// before is the sequence of the letter before the one at seq, if known.
func (o *Outbox) before(c *chain, seq uint64) (uint64, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return c.tail.prev, c.tail.seq == seq
}

func (o *Outbox) chainLocked(chat botmesh.ChatKey) *chain {
	if c, ok := o.inUse[chat]; ok {
		return c
	}
	if c, ok := o.idle.Get(chat); ok {
		return c
	}
	c := &chain{
		o: o, chat: chat, busy: make(chan struct{}, 1),
		letters:  subjectOf(familyLetter, o.cfg.Bot, chat),
		receipts: subjectOf(familyReceipt, o.cfg.Bot, chat),
	}
	o.idle.Add(chat, c)
	return c
}

// learn takes in an end of the chain that was read and is another than was known.
func (c *chain) learn(l link) {
	c.known, c.last, c.seen, c.mine = true, l, c.o.now(), false
}

// mayCall reports whether the platform may be called: our own entry is the last
// one, it is not free, and its time lasts for the limiter's answer, a call and the
// dead letter that may come of it.
func (c *chain) mayCall() bool {
	return c.mine && !c.last.Free && c.began.atMost(c.o.now()) < c.o.cfg.Hold-2*c.o.callTimeout()-c.o.limiterTime()
}

// mayClaim reports whether a claim may be appended at once. The writer of the last
// entry may, since it has nothing in flight.
func (c *chain) mayClaim() bool {
	return c.last.seq == 0 || c.last.Free || c.last.By == c.o.cfg.Incarnation
}

// claim appends a claim. Its position is that of the entry it is appended to; of
// the parts from there on, a dead owner may have called as many as calls says.
func (c *chain) claim(ctx context.Context, calls int) error {
	e := entry{Kind: kindClaim, position: c.last.position, Calls: c.mayBeCalled()}
	e.Doubt = max(e.Doubt, calls)
	c.owe(e)
	c.owed[len(c.owed)-1].calls = calls
	return c.pay(ctx)
}

// mayBeCalled is what an owner's entry says of the calls after it.
func (c *chain) mayBeCalled() int {
	if c.o.holds(c.chat.Provider) {
		return 0
	}
	return ahead
}

// owe notes an entry to be written after those owed before.
func (c *chain) owe(e entry) {
	e.V, e.ID, e.By = format, c.o.entryID(), c.o.cfg.Incarnation
	data, err := json.Marshal(e)
	if err != nil {
		panic(fmt.Sprintf("outbox: encode chain entry: %v", err)) // it holds nothing that can not be encoded
	}
	c.owed = append(c.owed, debt{entry: e, data: data})
}

// pay writes what is owed, in order, each entry until it is settled. It fails with
// errTaken, or with the context's cause: then the rest is still owed.
func (c *chain) pay(ctx context.Context) error {
	for len(c.owed) > 0 {
		if err := c.payFirst(ctx, &c.owed[0]); err != nil {
			return err
		}
	}
	return nil
}

// payFirst survives every answer and none. A conflict may be the answer to the
// repetition of our own write, so it is settled by reading like a lost answer.
func (c *chain) payFirst(ctx context.Context, d *debt) error {
	wait := c.o.newPause()
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !d.sent {
			d.sent, d.expect, d.began = true, c.last.seq, c.o.now()
			c.mine = c.mine && !d.Free // nothing is called after a free entry was sent, answer or not
		}
		ack, err := c.o.stream.Publish(ctx, jet.Publish{Msg: jet.Msg{Subject: c.receipts, Data: d.data}, Expect: &d.expect})
		if err == nil {
			c.paid(ctx, ack.Seq)
			return nil
		}
		level := slog.LevelDebug
		switch {
		case errors.Is(err, botmesh.ErrConflict), errors.Is(err, botmesh.ErrUnknown):
			if settled, err := c.settle(ctx, d); settled {
				return err
			}
		case !errors.Is(err, botmesh.ErrRefused):
			level = slog.LevelError // it will not get better by itself
		}
		c.o.cfg.Logger.Log(ctx, level, "chain entry not written yet", "chat", c.chat, "kind", d.Kind, "err", err)
		wait(ctx)
	}
}

// settle reads whether d is in the chain. Not settled means that the identical
// write is to be made again.
func (c *chain) settle(ctx context.Context, d *debt) (bool, error) {
	l, err := c.o.lastLink(ctx, c.receipts)
	switch {
	case errors.Is(err, ErrNewerFormat):
		// taken, by a newer build
	case err != nil, l.seq == d.expect:
		return false, nil
	case l.ID == d.ID:
		c.paid(ctx, l.seq)
		return true, nil
	case l.seq < d.expect && d.began.atLeast(c.o.now()) < c.patience(d.Kind):
		return false, nil // a deposed leader answers for a moment, or the chain aged away
	}
	for _, lost := range c.owed {
		if lost.Receipt != nil {
			c.o.cfg.Logger.WarnContext(ctx, "receipt not confirmed, the chain is another's", "chat", c.chat, "part", lost.Receipt.Part)
		}
	}
	c.owed, c.known = nil, false
	if err == nil {
		c.learn(l)
	}
	return true, errTaken
}

// patience is how long an end of the chain before the one we know is not
// believed. A claim that is dropped too early costs a read, a receipt a call.
func (c *chain) patience(k kind) time.Duration {
	if k == kindClaim {
		return c.o.cfg.Hold / 15
	}
	return c.o.cfg.Hold
}

// paid notes that the first debt stands at seq.
func (c *chain) paid(ctx context.Context, seq uint64) {
	d := c.owed[0]
	c.owed = c.owed[1:]
	c.known, c.last, c.seen = true, link{seq, d.entry}, c.o.now()
	c.mine, c.began = true, d.began
	if d.calls > 0 {
		c.o.countDoubt(ctx, c.chat, d.calls)
	}
}

// await returns when the owner's time has certainly passed or the chain has
// another end, which it reads again and again: a free entry ends the wait at once.
func (c *chain) await(ctx context.Context) error {
	poll := 20 * time.Millisecond
	for {
		left := c.o.cfg.Hold - c.seen.atLeast(c.o.now())
		if left <= 0 {
			return nil
		}
		if err := sleep(ctx, min(poll, left)); err != nil {
			return err
		}
		poll = min(2*poll, c.o.cfg.Hold/20)
		l, err := c.o.lastLink(ctx, c.receipts)
		switch {
		case errors.Is(err, ErrNewerFormat):
			return err
		case err == nil && l.seq > c.last.seq:
			c.learn(l)
			return nil
		}
	}
}
