package bot

import (
	"slices"
	"time"

	"github.com/botmesh-go/botmesh"
)

// events are the handlers of what is no message, and of messages that come too late.
type events struct {
	of         map[botmesh.RecordType]Handler
	sendFailed Handler
	stale      Handler
	age        time.Duration
}

// On handles records of a type that a user does not wait for an answer to: an edit, a
// deletion, a reaction, a membership (somebody joined, left, or blocked the bot), an
// opt-out or opt-in, or an event, what the platform knows and Botmesh has no word for.
// c.Record() has it. What is open stays open, and an edited message is never run as if it
// were a new one. Without a handler such a record has no effect: an opt-out stops nothing
// by itself, since answers stay allowed; the bot says what it is not to send any more.
func (b *Bot) On(kind botmesh.RecordType, handler Handler, opts ...HandlerOption) *Bot {
	switch kind {
	case botmesh.TypeEdit, botmesh.TypeDelete, botmesh.TypeReaction, botmesh.TypeMembership,
		botmesh.TypeOptOut, botmesh.TypeOptIn, botmesh.TypeEvent:
	default:
		b.fault("records of type %q have no handler of their own", kind)
	}
	switch {
	case handler == nil:
		b.fault("type %q has no handler", kind)
	case b.events.of[kind] != nil:
		b.fault("type %q is registered twice", kind)
	}
	if b.events.of == nil {
		b.events.of = map[botmesh.RecordType]Handler{}
	}
	b.events.of[kind] = b.with("the handler of type "+string(kind), handler, opts)
	return b
}

// OnSendFailed handles what the platform will never take of what the bot said, or took
// and, as it tells later, could not deliver: a user who blocked the bot, a text that is
// refused. c.Record().Failed has the part and the platform's answer. It runs in the
// chat's place like a message, once for each part; what is open stays open. When what
// it says itself fails, it is not called again.
func (b *Bot) OnSendFailed(handler Handler) *Bot {
	if handler == nil || b.events.sendFailed != nil {
		b.fault("OnSendFailed has no handler, or is registered twice")
	}
	b.events.sendFailed = handler
	return b
}

// Stale handles messages and presses, in place of all else, that were sent longer than
// age before they are run, by the platform's time: what piled up while the platform or
// the fleet was away. Without it, or if the platform gives no time, they are like any
// others, of which [flow.Turn.Stale] tells. What a flow that waits has [flow.Flow.OnStale]
// for goes there. Once its run has kept something a message is to later runs what it was
// to that one; one that an operator puts back is handled like any other.
func (b *Bot) Stale(age time.Duration, handler Handler) *Bot {
	if age <= 0 || handler == nil || b.events.age != 0 {
		b.fault("Stale has no age or no handler, or an age was set before")
	}
	b.events.age, b.events.stale = age, handler
	return b
}

// StaleAfter sets the age of [Bot.Stale] without a handler: for bots whose flows or
// handlers look at [flow.Turn.Stale] or have [flow.Flow.OnStale]. A bot that calls neither
// goes by BOTMESH_STALE_AFTER.
func (b *Bot) StaleAfter(age time.Duration) *Bot {
	if age <= 0 || b.events.age != 0 {
		b.fault("StaleAfter has no age, or one was set before")
	}
	b.events.age = age
	return b
}

// WithStaleAfter returns the bot with an age for what is late, or the bot itself if its
// author says one or age is zero. It is for those who run bots.
func (b *Bot) WithStaleAfter(age time.Duration) *Bot {
	if b.events.age != 0 || age == 0 {
		return b
	}
	with := *b
	with.faults = slices.Clip(b.faults)
	return with.StaleAfter(age)
}

// handler is what handles a record before anything else does, nil for none.
func (e *events) handler(r botmesh.Record) Handler {
	switch {
	case r.Failed != nil:
		return e.sendFailed
	case r.Type != botmesh.TypeMessage && r.Type != botmesh.TypeCallback:
		return e.of[r.Type]
	}
	return nil
}

// late is what handles a message in place of all else, since it is too old, nil for none.
func (t *turn) late() Handler {
	if !t.Stale() {
		return nil
	}
	p := t.chat.Position
	if _, _, command := parseCommand(t.Text()); command || p == nil || p.IsLost() || p.Stale(t.Record()) {
		return t.bot.events.stale
	}
	if f := t.bot.flows[p.Flow]; f != nil && f.TakesStale(*p) {
		return nil
	}
	return t.bot.events.stale
}
