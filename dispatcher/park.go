package dispatcher

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/telemetry"
)

// maxLooks bounds the parked chats that are looked at in one sweep.
const maxLooks = 256

// parking knows the chats that this build can not serve: a newer one wrote something of
// them, or they are stranded. Their nudges are given back, to come again here or, some
// time, at a replica of a build that can: at first soon, then less often. After a while
// they are parked, and the operator is told. No ticket waits meanwhile and no turn is held.
type parking struct {
	soon, late, after time.Duration
	log               *slog.Logger

	mu    sync.Mutex
	chats map[string]*parkedChat // by key
}

type parkedChat struct {
	chat        botmesh.ChatKey
	why         string
	since, seen time.Time
	parked      bool
	// The checkpoint that was met, by its revision and nonce: another one says that the chat
	// was served. That of a stranded chat is written as it waits, so there it is tries, those
	// of the record that it waits with, and nil in all others.
	revision uint64
	nonce    string
	tries    *checkpoint.Tries
	// through is the highest record that a look saw of a stranded chat, which found no way
	// out; zero of one that is not stranded.
	through uint64
}

func newParking(cfg Config) *parking {
	return &parking{
		soon: cfg.Lease / 15, late: 4 * cfg.Lease, after: cfg.ParkAfter, log: cfg.Logger,
		chats: map[string]*parkedChat{},
	}
}

// newer notes that a newer build wrote something of a chat, and says until when to put it
// off. One that was served meanwhile waits anew: builds may run beside each other for long.
func (p *parking) newer(chat botmesh.ChatKey, row checkpoint.Row, why string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	is := parkedChat{chat: chat, revision: row.Revision, nonce: row.Nonce, why: why, since: time.Now()}
	if c := p.chats[chat.Key()]; c != nil && c.tries == nil && c.unserved(chatCopy{row: row}) {
		is.since = c.since
	}
	return p.putOffLocked(is)
}

// stranded notes that this build can not go on from a chat's state, of whose records it
// saw those up to through, and says until when to put it off.
func (p *parking) stranded(chat botmesh.ChatKey, tries checkpoint.Tries, through uint64) error {
	return p.putOff(parkedChat{chat: chat, tries: &tries, why: tries.Error, since: tries.Stranded, through: through})
}

// stillStranded says until when to put a chat off that was found stranded, if it still is: by the
// same record, and there is none that was not seen then. Its run would be no other.
func (p *parking) stillStranded(chat botmesh.ChatKey, now chatCopy, highest uint64) error {
	p.mu.Lock()
	c := p.chats[chat.Key()]
	if c == nil || c.through < highest || !c.unserved(now) {
		p.mu.Unlock()
		return nil
	}
	is := *c
	p.mu.Unlock()
	return p.putOff(is)
}

// seenThrough is up to where a stranded chat's records were seen.
func (p *parking) seenThrough(chat botmesh.ChatKey) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.chats[chat.Key()]; c != nil {
		return c.through
	}
	return 0
}

// unserved reports whether nobody has served the chat since, going by its checkpoint as it
// is now.
func (c *parkedChat) unserved(now chatCopy) bool {
	if c.tries == nil {
		return c.revision == now.row.Revision && c.nonce == now.row.Nonce
	}
	is := now.cp.Tries
	return is != nil && is.Epoch == c.tries.Epoch && is.Record == c.tries.Record && is.Stranded.Equal(c.tries.Stranded)
}

// putOff notes a chat and says until when to put it off. One that has waited for long is
// parked from now on.
func (p *parking) putOff(is parkedChat) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.putOffLocked(is)
}

func (p *parking) putOffLocked(is parkedChat) error {
	now, key := time.Now(), is.chat.Key()
	waits := now.Sub(is.since)
	if c := p.chats[key]; c != nil {
		if is.parked = c.parked && waits >= p.after; !is.parked {
			p.removeLocked(key)
		}
	}
	is.seen = now
	if !is.parked && waits >= p.after {
		is.parked = true
		telemetry.ChatsParked.Add(context.Background(), 1)
		p.log.Error("chat parked, only another build can serve it", "chat", is.chat, "err", is.why)
	}
	p.chats[key] = &is
	again := min(max(waits/2, p.soon), p.late)
	if !is.parked {
		again = min(again, p.after-waits)
	}
	return &parkedError{laterError{now.Add(again), is.why}}
}

// parkedError is the laterError of a chat that this build can not serve.
type parkedError struct{ laterError }

func (e *parkedError) Unwrap() error { return &e.laterError }

// served notes that this replica serves a chat.
func (p *parking) served(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removeLocked(key)
}

// unseen are chats that did not come back for a while.
func (p *parking) unseen() (all []*parkedChat) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.chats {
		if time.Since(c.seen) > p.late+p.late/2 && len(all) < maxLooks {
			all = append(all, c)
		}
	}
	return all
}

// looked notes whether a chat still waits that did not come back, unless it has meanwhile.
func (p *parking) looked(c *parkedChat, waits bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch key := c.chat.Key(); {
	case p.chats[key] != c:
	case waits:
		_ = p.putOffLocked(*c) // it came by elsewhere
	default:
		p.removeLocked(key)
	}
}

// lookAtParked drops the parked chats that another replica has served since, and those
// whose records the journal has dropped.
func (d *Dispatcher) lookAtParked(ctx context.Context) {
	for _, c := range d.parking.unseen() {
		row, err := d.cfg.Store.Load(ctx, c.chat.Key())
		if err != nil {
			return // looked at again soon
		}
		cp, _ := checkpoint.Decode(row.Value) // of what can not be read the revision counts
		d.parking.looked(c, c.unserved(chatCopy{row: row, cp: cp}) && time.Since(c.since) < d.cfg.Retention)
	}
}

func (p *parking) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range p.chats {
		p.removeLocked(key)
	}
}

func (p *parking) removeLocked(key string) {
	c := p.chats[key]
	delete(p.chats, key)
	if c != nil && c.parked {
		telemetry.ChatsParked.Add(context.Background(), -1)
		p.log.Info("chat is parked here no more", "chat", c.chat)
	}
}

// status are the parked chats, in order.
func (p *parking) status() []ParkedChat {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []ParkedChat
	for _, c := range p.chats {
		if c.parked {
			all = append(all, ParkedChat{Chat: c.chat.String(), Since: c.since, Why: c.why})
		}
	}
	slices.SortFunc(all, func(a, b ParkedChat) int { return cmp.Compare(a.Chat, b.Chat) })
	return all
}
