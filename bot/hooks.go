package bot

import (
	"context"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/flow"
)

// Incoming is a message, or the press of a button, on its way to the bot. It is for
// [flow.Do] and [flow.User] too.
type Incoming struct {
	flow.InTurn
	// Message is what the user said: a hook may change it, its Locale too.
	Message *botmesh.Message
	// Record is the event as it was journaled.
	Record botmesh.Record

	ctx context.Context
}

// Context ends when the run must stop.
func (in *Incoming) Context() context.Context { return in.ctx }

// dropped is a message that a hook let nobody see.
type dropped string

func (dropped) Error() string { return "bot: a hook dropped the message" }

// Is reports that a message without an answer has no effect at all.
func (d dropped) Is(target error) bool { return d == "" && target == flow.ErrDropped }

// Drop is the error of a [Bot.BeforeMessage] hook that ends the turn there. The answer is
// sent in its place, in the language of the chat; nothing is if it is empty.
func Drop(answer string) error { return dropped(answer) }

// BeforeMessage adds a hook that sees each message and each press of a button before
// anything else does, in the order in which hooks were added. It may change it: put what
// was said in a voice message into words, find out the language. [Drop] ends the turn;
// any other error fails the run.
//
// What the hooks made of a message stays with it: once they have changed it, or a run has
// kept a result (see [flow.Do]), later runs find that and call no hook. That costs a
// commit for a message that is changed.
//
// Messages that come while a handler runs are seen too, before it receives them or they
// interrupt it: in each run of the handler, beside it, and results of Do are not kept
// there. A message that is dropped does not interrupt; one that is dropped with an answer,
// or fails, waits for the end of the run.
func (b *Bot) BeforeMessage(hook func(in *Incoming) error) *Bot {
	if hook == nil {
		b.fault("a hook before a message is nil")
	}
	b.before = append(b.before, hook)
	return b
}

// AfterTurn adds a hook that runs when a record was handled well, before it is
// committed. c.Sends are what is said; it may say more. Its error fails the run. It does
// not run where the record had no effect.
func (b *Bot) AfterTurn(hook Handler) *Bot {
	if hook == nil {
		b.fault("a hook after a turn is nil")
	}
	b.after = append(b.after, hook)
	return b
}

// OnError adds a hook that is told when a run failed: by the error of a handler, also one
// whose panic was recovered. The record is run again later, or set aside if it has no
// tries left. It is to report and no more; run.Record may hold what the user wrote.
func (b *Bot) OnError(hook func(ctx context.Context, run botmesh.Run, err error)) *Bot {
	if hook == nil {
		b.fault("a hook on errors is nil")
	}
	b.failed = append(b.failed, hook)
	return b
}

// Failed tells the [Bot.OnError] hooks. It is for those who run bots.
func (b *Bot) Failed(ctx context.Context, run botmesh.Run, err error) {
	for _, hook := range b.failed {
		hook(ctx, run, err)
	}
}

// OnHandover adds a hook that is told when a conversation of another process has come to
// this one, and what became of it: to count and to watch, since nothing can be said there.
// It is called once the turn is committed, or not at all if the process dies right then,
// and must return soon.
func (b *Bot) OnHandover(hook func(ctx context.Context, m botmesh.Handover)) *Bot {
	if hook == nil {
		b.fault("a hook on hand-overs is nil")
	}
	b.handed = append(b.handed, hook)
	return b
}

// HandedOver tells the [Bot.OnHandover] hooks. It is for those who run bots.
func (b *Bot) HandedOver(ctx context.Context, m botmesh.Handover) {
	for _, hook := range b.handed {
		hook(ctx, m)
	}
}

// OnTurnLost adds a hook that is told when this process lost its turn of a chat, or cut a
// run off since it took too long, and why: to count and to watch. What was not committed by
// then has no effect, and the message is run again. It is called for every chat, whether a
// handler ran or not, beside what goes on, and must return soon.
func (b *Bot) OnTurnLost(hook func(ctx context.Context, m botmesh.TurnLost)) *Bot {
	if hook == nil {
		b.fault("a hook on lost turns is nil")
	}
	b.lost = append(b.lost, hook)
	return b
}

// TurnLost tells the [Bot.OnTurnLost] hooks. It is for those who run bots.
func (b *Bot) TurnLost(ctx context.Context, m botmesh.TurnLost) {
	for _, hook := range b.lost {
		hook(ctx, m)
	}
}

// listen runs the hooks of a message.
func (t *turn) listen(ctx context.Context) error {
	r := t.Record()
	if len(t.bot.before) == 0 || r.Type != botmesh.TypeMessage && r.Type != botmesh.TypeCallback {
		return nil
	}
	return t.Before(func(of *flow.Turn, m *botmesh.Message) error {
		for _, hook := range t.bot.before {
			if err := hook(&Incoming{InTurn: of, Message: m, Record: of.Record(), ctx: ctx}); err != nil {
				return err
			}
		}
		return nil
	})
}

// finish runs the hooks of a turn that went well.
func (t *turn) finish() error {
	for _, hook := range t.bot.after {
		if err := t.handle(hook, ""); err != nil {
			return err
		}
	}
	return nil
}
