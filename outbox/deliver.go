package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// deliver calls p and the parts after it that are at hand, until something else
// than a delivery comes of one. While the next part is called the receipt of the
// one before is written: never more than one is outstanding, and only a delivered
// one, so that what comes of a part is known before a later one can overtake it.
func (d *Delivery) deliver(p part) error {
	ctx := d.t.span.of(d, p)
	if e, off := d.notNow(ctx, p); off {
		d.c.owe(e)
		return d.c.pay(d.hard)
	}
	if d.o.holds(d.c.chat.Provider) && p.Doubt == 0 && !p.refused() {
		d.c.owe(entry{Kind: kindAttempt, position: p.position, Calls: 1})
		if err := d.c.pay(d.hard); err != nil || !d.c.mayCall() {
			return err
		}
	}
	e := d.handle(ctx, p)
	var paying chan error
	for {
		if paying != nil {
			if err := <-paying; err != nil {
				if !errors.Is(err, errTaken) {
					d.c.owe(e) // the tenure is cut off; the next one in this process writes both
				}
				return err
			}
			d.report(d.reached(), false, nil)
		}
		d.c.owe(e)
		next, ok := d.following(p, e)
		if !ok {
			return d.c.pay(d.hard)
		}
		paying = make(chan error, 1)
		go func() { paying <- d.c.pay(d.hard) }()
		p = next
		ctx, off := d.t.span.of(d, p), false
		if e, off = d.notNow(ctx, p); !off {
			e = d.handle(ctx, p)
		}
	}
}

// following is the part to call while e, the receipt of p, is being written.
func (d *Delivery) following(p part, e entry) (part, bool) {
	if e.Free || e.Receipt == nil || e.Receipt.Result != botmesh.ResultDelivered || e.Calls < ahead || !d.c.mayCall() || d.o.paused(d.c.chat) {
		return part{}, false
	}
	if !p.last() {
		return part{p.place, p.index + 1, e.position}, true
	}
	pl, ok := d.fromMemory(p.seq)
	return part{pl, 0, e.position}, ok
}

// handle calls the platform, unless the part is to be held, and returns the entry
// that says what came of it. It touches nothing of the chain, to which a receipt
// may be written meanwhile.
func (d *Delivery) handle(ctx context.Context, p part) entry {
	holds, doubt, edited := d.o.holds(d.c.chat.Provider), p.Doubt > 0, d.o.edits(p)
	if holds && doubt && edited == "" {
		return d.hold(ctx, p, nil)
	}
	if p.refused() {
		return d.refuse(ctx, p)
	}
	sent, err := d.o.call(ctx, p)
	switch {
	case errors.Is(err, errDown):
		return d.later(ctx, p, kindWait, d.o.breakers[d.c.chat.Provider].pause(), err, false)
	case err == nil:
		return d.settled(p, botmesh.Receipt{Result: botmesh.ResultDelivered, ProviderID: sent.MessageID})
	case provider.IsPermanent(err):
		return d.bury(ctx, p, err, doubt)
	case errors.Is(err, errSaidAnew):
		return d.hold(ctx, p, err)
	case edited != "" && sent.MessageID == edited: // does no harm twice
	case provider.InDoubt(err) && !d.o.recognises(d.c.chat.Provider):
		d.o.countDoubt(ctx, d.c.chat, 1)
		if holds {
			return d.hold(ctx, p, err)
		}
		doubt = true
	}
	d.o.heed(ctx, p, err)
	return d.putOff(ctx, p, err, doubt)
}

// settled is the receipt of p. It is free if p is the last there is to call.
func (d *Delivery) settled(p part, r botmesh.Receipt) entry {
	r.Part, r.Attempts, r.At = p.of().ID, p.Tries+1, d.o.now().wall.UTC()
	if id := d.o.edits(p); id == "" || r.ProviderID != id { // an edit is the same twice
		r.InDoubt = r.InDoubt || p.Doubt > 0 && !d.o.recognises(d.c.chat.Provider)
	}
	if p.last() {
		d.o.countLatency(d.hard, p)
	}
	e := entry{Kind: kindReceipt, position: p.after(p.seq, p.last()), Receipt: &r}
	if r.Result == botmesh.ResultDelivered {
		e.Blocked, e.Heard = "", ""
	}
	e.Growing = p.growing(r)
	if d.soft.Err() != nil || p.last() && d.target() <= p.seq {
		e.Free = true
	} else {
		e.Calls = d.c.mayBeCalled()
	}
	return e
}

// putOff leaves p, whose call came to nothing, for a later one.
func (d *Delivery) putOff(ctx context.Context, p part, err error, doubt bool) entry {
	after, _ := provider.RetryAfter(err)
	if after <= 0 {
		after = d.o.retryAfter(p.Tries)
	}
	return d.later(ctx, p, kindRetry, after, err, doubt)
}

// hold parks p, which is in doubt, for an operator.
func (d *Delivery) hold(ctx context.Context, p part, why error) entry {
	r := botmesh.Receipt{Result: botmesh.ResultHeld, InDoubt: true}
	if why != nil {
		r.Error = clip(why)
	}
	if off, failed := d.setAside(ctx, p, DeadSend{InDoubt: true, Held: true, Error: r.Error}); failed {
		return off
	}
	d.o.cfg.Logger.WarnContext(ctx, "part held", "chat", d.c.chat, "part", p.of().ID, "attempt", p.Tries+1, "err", why)
	return d.settled(p, r)
}

// bury gives p up, which the platform will never take.
func (d *Delivery) bury(ctx context.Context, p part, why error, doubt bool) entry {
	if off, failed := d.setAside(ctx, p, DeadSend{InDoubt: doubt, Error: clip(why), Blocked: provider.IsBlocked(why)}); failed {
		return off
	}
	d.o.cfg.Logger.WarnContext(ctx, "part set aside", "chat", d.c.chat, "part", p.of().ID, "attempt", p.Tries+1, "err", why)
	e := d.settled(p, botmesh.Receipt{Result: botmesh.ResultPermanent, InDoubt: doubt, Error: clip(why)})
	if provider.IsBlocked(why) {
		e.Blocked, e.Heard = clip(why), p.letter.Heard
	}
	return e
}

// setAside has p set aside before its receipt says so: a crash in between sets it aside
// again. It takes no longer than the ownership lasts. If it fails p is put off.
func (d *Delivery) setAside(ctx context.Context, p part, s DeadSend) (off entry, failed bool) {
	if d.o.cfg.Dead != nil {
		ctx, cancel := context.WithTimeout(ctx, d.o.callTimeout())
		defer cancel()
		s.Chat, s.Letter, s.Epoch, s.Seq, s.Part = d.c.chat, p.letter.ID, d.o.epoch, p.seq, p.of()
		s.Tries, s.Trace = p.Tries+1, p.letter.Trace
		if err := d.o.cfg.Dead(ctx, s); err != nil {
			d.o.cfg.Logger.ErrorContext(ctx, "dead letter not written, the part is put off", "chat", d.c.chat, "part", p.of().ID, "err", err)
			until := d.o.now().wall.Add(d.o.retryAfter(p.Tries))
			return entry{Kind: kindRetry, Free: true, position: p.putOff(until, s.InDoubt)}, true
		}
	}
	return entry{}, false
}

// call makes one call to the platform. Nothing but its own time ends it: a call
// that is cut off leaves the part in doubt, as does a sender that panics.
func (o *Outbox) call(ctx context.Context, p part) (sent provider.Sent, err error) {
	heard, err := o.breakers[p.letter.Chat.Provider].allow(p.letter.Chat)
	if err != nil {
		return provider.Sent{}, err
	}
	defer func() { heard(err) }()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.callTimeout())
	defer cancel()
	ctx, done := callSpan(ctx, p)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("outbox: the sender panicked with a value of type %T", r)
		}
		err = provider.Unsaid(err, p.of().Send)
		done(err)
	}()
	return o.show(ctx, p)
}

// callTimeout bounds a call to the platform, and the writing of a dead letter.
func (o *Outbox) callTimeout() time.Duration { return o.cfg.Hold / 3 }

// recognises reports whether a provider's platform knows a repeated call.
func (o *Outbox) recognises(id string) bool {
	s, ok := o.senders[id].(provider.Idempotent)
	return ok && s.IdempotentCalls()
}

// holds reports whether a provider's parts in doubt are held.
func (o *Outbox) holds(id string) bool { return o.cfg.InDoubt[id] == Hold && !o.recognises(id) }
