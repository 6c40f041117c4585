package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// minPace is how far apart the signs of a chat are at least.
const minPace = time.Second

// Typing has the platform show that the bot is at work, on the message of that id if
// there is one. It reports whether that is shown, and when it is worth another call: zero
// if never. It is as [Delivery.Show] in all else.
func (d *Delivery) Typing(ctx context.Context, messageID string) (again time.Duration, shown bool) {
	s, ok := d.o.senders[d.c.chat.Provider].(provider.Typist)
	if !ok {
		return 0, false
	}
	var lasts time.Duration
	again, shown = d.sign(ctx, botmesh.Send{}, func(ctx context.Context) (err error) {
		lasts, err = s.Typing(ctx, d.c.chat, messageID)
		return err
	})
	if shown {
		again = max(again, lasts*4/5) // a little before it is gone
	}
	return again, shown
}

// Show has the platform show a text in the message that is the part of that id, which
// grows, for as long as no letter says something else there. It reports whether it is shown,
// and when a text is worth another call: zero if never.
//
// Nothing is written and nothing waits for it: no call is made while letters of the chat
// are to be called, the chat is paused, its account is down or the platform's limits are
// used up. One that is made takes at most a third of Config.Hold, and has ended when Show
// returns; one that was cut off, by that time or by ctx, may still be seen later.
func (d *Delivery) Show(ctx context.Context, part string, s botmesh.Send) (again time.Duration, shown bool) {
	sender := d.o.senders[d.c.chat.Provider]
	editor, ok := sender.(provider.Editor)
	if !ok {
		return 0, false
	}
	d.mu.Lock()
	id := d.growing[part]
	if id == "" && !d.closed {
		d.beginLocked() // another replica may have sent it, as the chain says
	}
	d.mu.Unlock()
	if id == "" {
		return minPace, false
	}
	return d.sign(ctx, s, func(ctx context.Context) error {
		parts, err := provider.Split(sender, botmesh.Send{Text: s.Text, Spans: s.Spans})
		if err != nil {
			return provider.Permanent(err)
		}
		return editor.Edit(ctx, provider.Call{Part: part, Chat: d.c.chat, Send: parts[0]}, id)
	})
}

// sign makes a call that may as well not be made. Of s, which it shows, nothing is logged.
func (d *Delivery) sign(ctx context.Context, s botmesh.Send, call func(context.Context) error) (again time.Duration, shown bool) {
	o, demand := d.o, d.o.demandOf(d.c.chat)
	pace := max(minPace, 2*demand.Limits.Chat.Every)
	if wait := d.unsigned(pace); wait > 0 {
		return wait, false
	}
	b := o.breakers[d.c.chat.Provider]
	if wait := b.quietFor(); wait > 0 {
		return max(pace, wait), false
	}
	if o.paused(d.c.chat) || !b.closed() || ctx.Err() != nil {
		return pace, false
	}
	ctx, cancel := context.WithTimeout(ctx, o.callTimeout())
	defer cancel()
	if o.cfg.Limiter != nil {
		asking, done := context.WithTimeout(ctx, o.limiterTime())
		wait := o.cfg.Limiter.Allow(asking, demand)
		done()
		if wait > 0 {
			return max(pace, wait), false
		}
	}
	err := safely(ctx, call)
	if err == nil {
		return pace, true
	}
	o.cfg.Logger.DebugContext(ctx, "sign not shown", "chat", d.c.chat, "err", provider.Unsaid(err, s))
	if provider.IsPermanent(err) {
		return 0, false
	}
	// The platform may mean signs alone, so that what is sent finds out for itself.
	after, _ := provider.RetryAfter(err)
	b.keepQuiet(after)
	return max(2*pace, after), false
}

// unsigned is how long it is too early for a sign, zero if one may be given now, which
// then counts. While letters wait none may.
func (d *Delivery) unsigned(pace time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.o.now()
	if d.closed || d.goal > d.standing.Settled {
		return pace
	}
	if wait := pace - d.signed.atMost(now); wait > 0 {
		return wait
	}
	d.signed = now
	return 0
}

// safely makes a call whose panic is an error.
func safely(ctx context.Context, call func(context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = provider.Permanent(fmt.Errorf("outbox: the sender panicked with a value of type %T", r))
		}
	}()
	return call(ctx)
}

// closed reports whether the account's calls go well.
func (b *breaker) closed() bool { return b.cb.State() == gobreaker.StateClosed }

// keepQuiet has no sign given for a time: the platform was called too often.
func (b *breaker) keepQuiet(pause time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.quiet, b.quietSince = pause, b.o.now()
}

// quietFor is how long no sign is to be given.
func (b *breaker) quietFor() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.quiet - b.quietSince.atMost(b.o.now())
}
