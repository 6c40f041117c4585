package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/telemetry"
)

// Limiter shares the calls that platforms allow out among all who deliver. It is
// safe for concurrent use, and answers in time: where it can not know it guesses.
type Limiter interface {
	// Allow gives zero if the call may be made now, and counts it. Else nothing is
	// counted, and the call is worth asking for again after that time.
	Allow(ctx context.Context, d Demand) time.Duration
	// Stop takes down that the platform wants no call for a time: to the demand's
	// chat, or of its whole account.
	Stop(ctx context.Context, d Demand, account bool, pause time.Duration)
}

// Demand is a call that somebody wants to make.
type Demand struct {
	// Account is the provider's id, Limits what it allows. Limits.Address is set.
	Account string
	Limits  provider.Limits
	// Waited says that the call was put off before, so that it goes before those
	// that come now.
	Waited bool
}

// errDown says that no call was made, since the account's calls fail.
var errDown = errors.New("outbox: the account is down")

// limiterTime bounds how long a limiter is asked.
func (o *Outbox) limiterTime() time.Duration {
	if o.cfg.Limiter == nil {
		return 0
	}
	return o.cfg.Hold / 30
}

// demand is the call of p, as the limiter is asked for it.
func (o *Outbox) demand(p part) Demand {
	d := o.demandOf(p.letter.Chat)
	d.Waited = !p.NotBefore.IsZero()
	return d
}

// demandOf is a call to a chat that did not wait.
func (o *Outbox) demandOf(chat botmesh.ChatKey) Demand {
	d := Demand{Account: chat.Provider}
	if s, ok := o.senders[d.Account].(provider.Limited); ok {
		d.Limits = s.Limits(chat)
	}
	d.Limits.Address = cmp.Or(d.Limits.Address, chat.Chat)
	return d
}

// notNow asks whether p may be called. If not it returns the entry that puts p
// off, which is free: nobody sleeps for it.
func (d *Delivery) notNow(ctx context.Context, p part) (entry, bool) {
	o := d.o
	if p.refused() {
		return entry{}, false // no call
	}
	if b := o.breakers[d.c.chat.Provider]; b.down() {
		return d.later(ctx, p, kindWait, b.pause(), errDown, false), true
	}
	if o.cfg.Limiter == nil {
		return entry{}, false
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.limiterTime())
	defer cancel()
	pause := o.cfg.Limiter.Allow(within, o.demand(p))
	if pause <= 0 {
		return entry{}, false
	}
	return d.later(ctx, p, kindWait, pause, errors.New("outbox: over the platform's limits"), false), true
}

// heed tells the limiter when the platform asked for a pause.
func (o *Outbox) heed(ctx context.Context, p part, err error) {
	after, ok := provider.RetryAfter(err)
	if o.cfg.Limiter == nil || !ok || after <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.limiterTime())
	defer cancel()
	o.cfg.Limiter.Stop(ctx, o.demand(p), provider.IsAll(err), after)
}

// later leaves p for a later call, by whoever has the chat then. A letter that
// would be too old by then is dead.
func (d *Delivery) later(ctx context.Context, p part, k kind, after time.Duration, why error, doubt bool) entry {
	until := d.o.now().wall.Add(after)
	if until.Sub(p.letter.At) > d.o.cfg.GiveUp {
		return d.bury(ctx, p, fmt.Errorf("given up after %v: %w", d.o.cfg.GiveUp, why), doubt || p.Doubt > 0)
	}
	telemetry.PutOff.Add(ctx, 1, metric.WithAttributes(telemetry.KeyProvider.String(d.c.chat.Provider), telemetry.KeyReason.String(string(k))))
	level := slog.LevelInfo
	if k == kindWait {
		level = slog.LevelDebug // nothing went wrong, and many may wait
	}
	d.o.cfg.Logger.Log(ctx, level, "part put off", "chat", d.c.chat, "part", p.of().ID, "attempt", p.Tries+1, "after", after, "err", why)
	if k == kindWait {
		return entry{Kind: k, Free: true, position: p.wait(until)}
	}
	return entry{Kind: k, Free: true, position: p.putOff(until, doubt)}
}
