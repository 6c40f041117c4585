package dispatcher

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/telemetry"
)

// parking knows the chats that this build can not serve, since a newer one wrote
// something of them. Their nudges are given back, to come again here or, some time,
// at a replica of that build. After a while they are parked: the operator is told, and
// they come back less often. Nothing is written, so a build that can serve a chat goes
// on with it when its nudge comes by.
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
}

func newParking(cfg Config) *parking {
	return &parking{
		soon: cfg.Lease, late: 4 * cfg.Lease, after: cfg.ParkAfter, log: cfg.Logger,
		chats: map[string]*parkedChat{},
	}
}

// wait notes that a chat can not be served, and says until when to put it off.
func (p *parking) wait(chat botmesh.ChatKey, why string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, key := time.Now(), chat.Key()
	c := p.chats[key]
	if c == nil {
		c = &parkedChat{chat: chat, since: now}
		p.chats[key] = c
	}
	c.why, c.seen = why, now
	if !c.parked && now.Sub(c.since) >= p.after {
		c.parked = true
		telemetry.ChatsParked.Add(context.Background(), 1)
		p.log.Error("chat parked, only a newer build can serve it", "chat", chat, "err", why)
	}
	if c.parked {
		return &laterError{now.Add(p.late), why}
	}
	return &laterError{now.Add(p.soon), why}
}

// forget drops the chats that did not come back: a newer replica serves them.
func (p *parking) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, c := range p.chats {
		if time.Since(c.seen) > 3*p.late {
			p.removeLocked(key)
		}
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
