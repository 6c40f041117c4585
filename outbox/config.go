package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/provider"
)

// Policy says what becomes of a part in doubt: its call was made, and nobody
// knows whether the platform took it. Where the platform recognises a repeated
// call ([provider.Idempotent]) it is simply made again, whatever the policy.
type Policy int

// The policies.
const (
	// Resend calls again: the user may see the part twice.
	Resend Policy = iota
	// Hold parks the part for an operator: the user may never see it. The chat goes
	// on with the next part. It costs a write before each call.
	Hold
)

// Config configures an [Outbox]. A zero value of an optional field means its default.
type Config struct {
	// Stream is the bot's outbox ([StreamName]). Required.
	Stream jet.Stream
	// Bot is the bot's id. Required.
	Bot string
	// Incarnation names this process in the chains, as the coordinator does. No
	// two processes, and no two outboxes that deliver, may have the same. Required
	// with Senders.
	Incarnation string
	// Senders are the platforms. Without any the outbox can be read and appended
	// to but not delivered.
	Senders []provider.Sender
	// InDoubt is the policy of each provider id. Defaults to [Resend].
	InDoubt map[string]Policy
	// Dead sets a part aside that the platform will never take, or that is held. It must
	// be idempotent. If it fails the part is set aside again later, after another call
	// unless it is held. Defaults to leaving only the receipt.
	Dead func(ctx context.Context, d DeadSend) error

	// Paused, if set, reports whether nothing is to be sent to a chat now. It is asked
	// before each call and answers at once. Those who wait are told [ErrPaused]; nothing
	// of the chat is written for it, and no try is spent.
	Paused func(chat botmesh.ChatKey) bool

	// Limiter keeps calls within what the platforms allow. Defaults to none: then only
	// a platform's refusals slow a chat down. All who deliver share one.
	Limiter Limiter

	// Hold is how long the ownership of a chain lasts after its last entry: what
	// the successor of a dead replica waits. A call to the platform may take a
	// third of it. The same on all replicas. Defaults to 15 seconds.
	Hold time.Duration
	// RetryFirst is the pause after a part's first failed call, doubled with each
	// next one up to RetryMax. A platform that asks for another pause gets it.
	// Default to one second and two minutes.
	RetryFirst, RetryMax time.Duration
	// Down is for how long an account whose calls fail one after the other, for
	// several chats, is not called. Then one call tries it. Defaults to ten seconds.
	Down time.Duration
	// GiveUp is the age of a letter at which a part that still can not be delivered
	// is dead. It must be well below half of the journal's retention, whose record
	// stands for the letter until then. Defaults to 24 hours.
	GiveUp time.Duration
	// IdleChats is how many idle chats' end of the chain is kept in memory, least
	// recently used first out. Without it the chat's next letter costs a read more,
	// and a receipt that could not be written yet is lost: its part is in doubt.
	// Defaults to 10 000.
	IdleChats int

	// Listen, if set, calls wake soon after a message was published on a subject of
	// the stream; it may do so at other times too, or miss one now and then. A
	// plain NATS subscription does. stop ends it. Without, [Outbox.Follow] polls.
	Listen func(subject string, wake func()) (stop func(), err error)

	Logger *slog.Logger // defaults to discarding
}

// DeadSend is a part that the platform will never take, that could not be delivered
// before its letter was too old, or that is held.
type DeadSend struct {
	Chat botmesh.ChatKey
	// Letter is the id of the letter, Seq its sequence in the outbox of Epoch.
	Letter string
	Epoch  string
	Seq    uint64
	Part   botmesh.Part
	// Tries counts the calls. InDoubt says that one of them may have been taken.
	Tries   int
	InDoubt bool
	// Held says that it is parked for an operator, since it is in doubt.
	Held bool
	// Error is the platform's answer, if there is one, Blocked whether it is of the whole
	// chat.
	Error   string
	Blocked bool
	// Trace is the letter's trace context.
	Trace map[string]string
}

func (c *Config) defaults() {
	c.Hold = cmp.Or(c.Hold, 15*time.Second)
	c.RetryFirst = cmp.Or(c.RetryFirst, time.Second)
	c.RetryMax = cmp.Or(c.RetryMax, 2*time.Minute)
	c.Down = cmp.Or(c.Down, 10*time.Second)
	c.GiveUp = cmp.Or(c.GiveUp, 24*time.Hour)
	c.IdleChats = cmp.Or(c.IdleChats, 10_000)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

func (c *Config) validate() error {
	var errs []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("outbox: "+format, args...))
		}
	}
	wrong(c.Stream == nil, "Stream is required")
	wrong(!botmesh.ValidName(c.Bot), "Bot %q does not match [a-z0-9-]{1,32}", c.Bot)
	wrong(len(c.Senders) > 0 && c.Incarnation == "", "Incarnation is required")
	wrong(c.Hold < 3*time.Millisecond, "Hold is %v, want at least 3ms", c.Hold)
	wrong(c.RetryFirst <= 0, "RetryFirst is %v, want more than zero", c.RetryFirst)
	wrong(c.RetryMax < c.RetryFirst, "RetryMax is %v, want at least RetryFirst, %v", c.RetryMax, c.RetryFirst)
	wrong(c.Down <= 0, "Down is %v, want more than zero", c.Down)
	wrong(c.GiveUp <= 0, "GiveUp is %v, want more than zero", c.GiveUp)
	wrong(c.IdleChats <= 0, "IdleChats is %d, want more than zero", c.IdleChats)
	seen := map[string]bool{}
	for _, s := range c.Senders {
		wrong(!botmesh.ValidName(s.ID()), "sender %q does not match [a-z0-9-]{1,32}", s.ID())
		wrong(seen[s.ID()], "two senders are called %q", s.ID())
		seen[s.ID()] = true
	}
	for id, p := range c.InDoubt {
		wrong(p != Resend && p != Hold, "InDoubt of %q is %d, want Resend or Hold", id, p)
	}
	return errors.Join(errs...)
}
