package bot

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/flow"
)

// Handover decides for flows that are not kept ([flow.Ephemeral]) when another process
// gets their chat. Those that are kept go on in any case.
type Handover struct {
	// Forward lets them go on there, if the flow that waits is the same in both builds,
	// or the question that is open, and its time is not up. By default they are lost.
	Forward bool
	// TTL is how long after its last question one is forwarded that says nothing of
	// it. Defaults to five minutes.
	TTL time.Duration
	// Lost is what is done for one that can not go on, when the next message comes. A
	// /cancel ends it, whatever Lost and Decide say.
	Lost LostPolicy
	// Decide does that in place of Lost, and reports whether it has dealt with the
	// message too, which else is handled like any other.
	Decide func(c *Context, lost Lost) (handled bool, err error)
}

// LostPolicy is what is done for a flow that can not go on.
type LostPolicy int

// The policies.
const (
	// Forget does nothing: the message is handled like any other.
	Forget LostPolicy = iota
	// Notify says Texts.Interrupted in answer to the message.
	Notify
	// Restart begins the flow anew, in place of handling the message. A flow that this
	// build does not have is forgotten.
	Restart
)

// Lost is a flow that can not go on.
type Lost struct {
	Flow, Step string
	State      json.RawMessage // as it was left, perhaps by another build
	// Changed says that it could be forwarded but for a flow that is another in this
	// build.
	Changed bool
}

// Handover sets what becomes of flows that are not kept when their chat moves.
func (b *Bot) Handover(h Handover) *Bot {
	switch {
	case h.TTL < 0:
		b.fault("Handover: TTL is %s, want 0 or more", h.TTL)
	case h.Lost < Forget || h.Lost > Restart:
		b.fault("Handover: Lost is %d, want Forget, Notify or Restart", h.Lost)
	case h.Decide != nil && h.Lost != Forget:
		b.fault("Handover: set Lost or Decide, not both")
	}
	b.handover = &h
	return b
}

// WithHandover returns the bot with h for its [Bot.Handover], or the bot itself if that was
// called: what the author says counts for all deployments. It is for those who run bots.
func (b *Bot) WithHandover(h Handover) *Bot {
	if b.handover != nil {
		return b
	}
	with := *b
	with.faults = slices.Clip(b.faults)
	return with.Handover(h)
}

// Stays reports whether what waits in a state is lost to every process but the one that it
// began in: a live conversation, or a flow that is not kept and not forwarded.
func (b *Bot) Stays(state []byte) bool {
	chat, err := flow.DecodeChat(state)
	if err != nil || chat.Position == nil || chat.Position.Brief == nil {
		return false
	}
	brief := chat.Position.Brief
	return !brief.Lost && !brief.Forward
}

// handsOver is what the bot's author, or who runs it, says of hand-overs.
func (b *Bot) handsOver() Handover {
	if b.handover == nil {
		return Handover{}
	}
	return *b.handover
}

// arrive decides whether the flow that waits goes on in this process, before its record
// is looked at. It reports whether that changes what is kept of the chat.
func (t *turn) arrive(run botmesh.Run) (changed bool) {
	p := t.chat.Position
	switch {
	case p == nil:
		return false
	case p.Brief == nil:
		t.moved(run, *p, botmesh.HandoverResumed)
		return false
	case p.Brief.Forward && !p.Brief.Until.After(run.Now):
		t.chat.Position = nil // it was never more than for a while
		return true
	}
	f := t.bot.flows[p.Flow]
	here := run.From == "" && (f == nil || f.Here(t.Turn, *p))
	switch {
	case p.Brief.Lost: // and nobody was told yet
	case here, p.Brief.Forward && f != nil && f.Fits(*p):
		t.moved(run, *p, botmesh.HandoverForwarded)
		return false
	}
	if until := p.Brief.Until; !p.Brief.Forward && !until.IsZero() && !until.After(run.Now) {
		t.chat.Position = nil // nobody waits for it any more
		return true
	}
	lost, brief := *p, *p.Brief // until a message comes: the user is not told before
	brief.Lost, lost.Brief = true, &brief
	t.chat.Position = &lost
	t.Live(t.lives, nil)
	return true
}

// lost does what is to be done for a flow that may not go on, if it is lost and the user
// said something. It reports true if the record is dealt with.
func (t *turn) lost() (handled bool, err error) {
	p, r := t.chat.Position, t.Record().Type
	if !p.IsLost() || r != botmesh.TypeMessage && r != botmesh.TypeCallback {
		return false, nil
	}
	t.chat.Position = nil
	if t.cancelled { // a run of it, which took it along
		return false, nil
	}
	h, f, result := t.bot.handsOver(), t.bot.flows[p.Flow], botmesh.HandoverDropped
	switch {
	case isCancel(t.Record()): // to be told that it is
		t.cancelled = true
	case t.chat.Human: // they have the message
	case h.Decide != nil:
		result = botmesh.HandoverCustom
		err = t.handle(func(c *Context) (err error) {
			handled, err = h.Decide(c, Lost{Flow: p.Flow, Step: p.Step, State: p.State, Changed: p.Brief.Forward})
			return err
		}, "")
	case h.Lost == Notify:
		result, handled = botmesh.HandoverNotified, true
		t.Say(t.T(t.bot.texts.Interrupted))
	case h.Lost == Restart && f != nil:
		result, handled = botmesh.HandoverRestarted, true
		err = t.start(f)
	}
	t.handedOver = &botmesh.Handover{Flow: p.Flow, Result: result}
	return handled, err
}

// moved notes that a flow of another process goes on.
func (t *turn) moved(run botmesh.Run, p flow.Position, result botmesh.HandoverResult) {
	if run.From != "" {
		t.handedOver = &botmesh.Handover{Flow: p.Flow, Result: result}
	}
}

// brief notes of the flow that waits now for how long it does.
func (t *turn) brief(before *flow.Position) {
	p := t.chat.Position
	if p == nil || p == before || p.IsLost() {
		return
	}
	if f := t.bot.flows[p.Flow]; f != nil {
		h := t.bot.handsOver()
		p.Brief = f.Brief(*p, t.Now(), h.Forward, h.TTL)
	}
}
