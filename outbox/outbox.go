package outbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/provider"
)

// Outbox is a bot's outbox: letters go in, and are delivered, chat by chat, by
// whoever holds the chat's turn. Safe for concurrent use.
type Outbox struct {
	cfg     Config
	stream  jet.Stream
	epoch   string
	senders map[string]provider.Sender
	// breakers are the accounts' own.
	breakers map[string]*breaker
	now      func() moment
	random   float64 // by how much pauses vary, so that many chats do not try at once

	nonce   string // makes the ids of this outbox's entries unique
	entries atomic.Uint64

	mu    sync.Mutex
	inUse map[botmesh.ChatKey]*chain
	idle  *simplelru.LRU[botmesh.ChatKey, *chain]
}

// Open reads the outbox's epoch from its stream.
//
// It fails with botmesh.ErrRefused if there is no such stream or nobody could
// answer just now.
func Open(ctx context.Context, cfg Config) (*Outbox, error) {
	cfg.defaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	info, err := cfg.Stream.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("outbox: open %s: %w", cfg.Stream.Name(), err)
	}
	epoch := info.Metadata[epochKey]
	if epoch == "" {
		return nil, fmt.Errorf("outbox: open %s: its metadata has no %s, so that it was not made by Botmesh", cfg.Stream.Name(), epochKey)
	}
	o := &Outbox{
		cfg: cfg, stream: cfg.Stream, epoch: epoch, now: newClock(), random: 0.2, nonce: rand.Text(),
		senders: map[string]provider.Sender{}, breakers: map[string]*breaker{}, inUse: map[botmesh.ChatKey]*chain{},
	}
	for _, s := range cfg.Senders {
		o.senders[s.ID()], o.breakers[s.ID()] = s, o.newBreaker(s.ID())
	}
	o.idle, err = simplelru.NewLRU[botmesh.ChatKey, *chain](cfg.IdleChats, nil)
	return o, err
}

// Epoch names the stream as it was made. Sequences of different epochs can not be
// compared.
func (o *Outbox) Epoch() string { return o.epoch }

// Standing is how far the delivery of a chat has come.
type Standing struct {
	// Settled is an outbox sequence: every part of every letter of the chat up to
	// it was delivered, is dead, or is held.
	Settled uint64
	// NotBefore is when the next part may be called, zero if at once.
	NotBefore time.Time
}

// Standing returns how far the delivery of a chat has come, from the stream's
// leader. Errors: botmesh.ErrRefused if nobody could answer, [ErrNewerFormat], or
// the context's.
func (o *Outbox) Standing(ctx context.Context, chat botmesh.ChatKey) (Standing, error) {
	l, err := o.lastLink(ctx, subjectOf(familyReceipt, o.cfg.Bot, chat))
	if err != nil {
		return Standing{}, err
	}
	return l.standing(o.now().wall), nil
}

func (p position) standing(now time.Time) Standing {
	s := Standing{Settled: p.Through}
	if now.Before(p.NotBefore) {
		s.NotBefore = p.NotBefore
	}
	return s
}

// lastLink reads the end of a chain from the stream's leader.
func (o *Outbox) lastLink(ctx context.Context, subject string) (link, error) {
	m, err := o.stream.Last(ctx, subject)
	switch {
	case errors.Is(err, botmesh.ErrNotFound):
		return link{}, nil
	case err != nil:
		return link{}, fmt.Errorf("outbox: read the chain %s: %w", subject, err)
	}
	return decodeEntry(m)
}

func (o *Outbox) entryID() string {
	return o.nonce + "." + strconv.FormatUint(o.entries.Add(1), 36)
}
