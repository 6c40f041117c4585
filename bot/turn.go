package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/flow"
)

// Turn decides what a record does: from the chat's state to the next and to what
// is said. It does no I/O, reads no clock and keeps nothing of the chat, so that a
// run has the same outcome wherever it is repeated, as far as the handlers do and, of
// an album or a burst, as the same messages are there in time.
//
// On error nothing is decided. It is [flow.ErrStranded] if the chat waits in a
// flow that this bot can not go on with, or what it keeps can not be read. A panic of a
// handler is not recovered.
//
// A live conversation has no process to wait in; see [Bot.TurnIn].
func (b *Bot) Turn(ctx context.Context, run botmesh.Run, midway botmesh.Midway) (botmesh.Outcome, error) {
	return b.TurnIn(ctx, nil, run, midway)
}

// TurnIn is Turn in a process whose live conversations wait in lives; they and no others
// are what a turn reads and leaves behind beside its outcome.
func (b *Bot) TurnIn(ctx context.Context, lives *flow.Lives, run botmesh.Run, midway botmesh.Midway) (botmesh.Outcome, error) {
	switch run.Record.Type {
	case botmesh.TypeMessage, botmesh.TypeCallback, botmesh.TypeTimer:
	case botmesh.TypeCommand:
		if forgets(run.Record) {
			return forget(ctx, lives, run), nil
		}
		if len(run.Record.Sends) == 0 && !asksAgain(run.Record) {
			return botmesh.Outcome{Ignored: true}, nil
		}
	default:
		if b.events.handler(run.Record) == nil {
			return botmesh.Outcome{Ignored: true}, nil
		}
	}
	chat, err := flow.DecodeChat(run.State)
	if err != nil {
		if run.Record.Type == botmesh.TypeCommand && !asksAgain(run.Record) { // who waits for it need not wait for a build
			return botmesh.Outcome{State: run.State, Sends: run.Record.Sends}, nil
		}
		return botmesh.Outcome{}, fmt.Errorf("bot: %w", err)
	}
	chat.Human = chat.Human && b.human != nil // else they were of another build
	cancelled := interruptedBy(run)
	if cancelled { // by the user, who waits for no answer to the message any more
		run.Record, run.Also = run.Also[len(run.Also)-1], nil
	}
	t := &turn{Turn: flow.NewTurn(ctx, run, midway), bot: b, chat: chat, lives: lives, cancelled: cancelled}
	t.Live(lives, chat.Position)
	before, left := chat.Position, botmesh.Outcome{State: run.State}
	if t.arrive(run) {
		if left.State, err = t.chat.Encode(); err != nil {
			return botmesh.Outcome{}, err
		}
	}
	left.Handover = t.handedOver
	if err := t.SetStale(b.events.age); err != nil {
		return botmesh.Outcome{}, err
	}
	if run.Record.Type == botmesh.TypeCommand && !asksAgain(run.Record) { // said from outside, in its place; what the chat waits for it still waits for
		left.Sends = run.Record.Sends
		return left, nil
	}
	t.Hold(isCommand, isCancel)
	var usage usageError
	var drop dropped
	switch err := t.run(ctx, b.events.handler(run.Record)); {
	case errors.Is(err, errIgnored), errors.Is(err, flow.ErrDropped):
		return botmesh.Outcome{Ignored: true}, nil
	case errors.As(err, &drop):
		left.Sends = []botmesh.Send{{Text: t.T(string(drop))}}
		return left, nil
	case errors.As(err, &usage):
		left.Sends = []botmesh.Send{{Text: string(usage)}}
		return left, nil
	case err != nil:
		return botmesh.Outcome{}, err
	}
	return t.outcome(before)
}

// asksAgain reports whether a record is the end of a pause, with the wish to ask again.
func asksAgain(r botmesh.Record) bool { return r.Resume != nil && r.Resume.Ask }

// forgets reports whether a record is the end of a pause, with the wish to forget all of the chat.
func forgets(r botmesh.Record) bool { return r.Resume != nil && r.Resume.Forget }

// forget keeps nothing of a chat, and ends the live conversation that this process has of it.
func forget(ctx context.Context, lives *flow.Lives, run botmesh.Run) botmesh.Outcome {
	flow.NewTurn(ctx, run, nil).Live(lives, nil)
	return botmesh.Outcome{}
}

// outcome is what the turn came to, in which a flow waited at before, or none did.
func (t *turn) outcome(before *flow.Position) (botmesh.Outcome, error) {
	t.brief(before)
	t.Watch(before, t.chat.Position)
	state, err := t.chat.Encode()
	if err != nil {
		return botmesh.Outcome{}, err
	}
	out := botmesh.Outcome{
		State: state, Sends: t.Sends(), Commands: t.Commands(), User: t.UserChanges(), Through: t.Heard(), Handover: t.handedOver,
	}
	out.Arm, out.Disarm = t.Timers()
	return out, nil
}

// errIgnored says that a record is nobody's.
var errIgnored = errors.New("bot: nothing handles this")

// usageError is what a user is told whose arguments will not do.
type usageError string

func (e usageError) Error() string { return string(e) }

// turn is one run on its way through the bot. After an error of its methods
// nothing of it is used.
type turn struct {
	*flow.Turn
	bot  *Bot
	chat flow.Chat

	lives      *flow.Lives       // of this process
	cancelled  bool              // by the record: a run, or a flow that is lost
	handedOver *botmesh.Handover // of the flow that waited elsewhere
}

// run handles the record, with the hooks around it.
func (t *turn) run(ctx context.Context, event Handler) error {
	if err := errors.Join(t.listen(ctx), t.speak()); err != nil {
		return err
	}
	if err := t.gather(); err != nil {
		return err
	}
	handled, err := t.lost()
	if err == nil && !handled {
		err = t.route(event)
	}
	if err != nil {
		return err
	}
	return t.finish()
}

func (t *turn) route(event Handler) error {
	if t.Record().Resume != nil {
		if t.chat.Position == nil || t.chat.Position.IsLost() || t.chat.Human {
			return errIgnored
		}
		err := t.askAgain("")
		if errors.Is(err, flow.ErrStranded) {
			return errIgnored // the chat's next message waits for a build that can go on; the pause has ended
		}
		return err
	}
	if t.forHuman() {
		event = t.bot.human
	} else if event == nil {
		event = t.late()
	}
	if event != nil {
		return t.handle(event, "")
	}
	if t.Record().Type == botmesh.TypeTimer {
		return t.fired()
	}
	waiting := t.chat.Position
	if name, args, ok := parseCommand(t.Text()); ok {
		return t.command(name, args)
	}
	if waiting.Stale(t.Record()) {
		return t.expired()
	}
	if waiting != nil {
		return t.move(func(f flow.Definition) (*flow.Position, error) { return f.Answer(t.Turn, *waiting) })
	}
	if f := t.bot.words[strings.ToLower(strings.TrimSpace(t.Text()))]; f != nil {
		return t.start(f)
	}
	if t.bot.fallback == nil {
		return errIgnored
	}
	return t.handle(t.bot.fallback, "")
}

func (t *turn) command(name, args string) error {
	lower := strings.ToLower(name)
	known := t.bot.commands[lower]
	switch {
	case lower == cancel:
		return t.cancel()
	case lower == back && t.bot.goesBack():
		return t.back()
	case lower == human && t.bot.human != nil:
		return t.callHuman()
	case lower == again && t.bot.human != nil:
		return t.callBot()
	case lower == help && t.bot.helps():
		if text := t.help(); text != "" {
			return t.askAgain(t.T(text))
		}
		if known == nil {
			t.Say(fill(t.T(t.bot.texts.Help), "commands", strings.Join(t.bot.Commands(), "\n")))
			return nil
		}
	case known == nil:
		t.Say(fill(t.T(t.bot.texts.Unknown), "command", name))
		return nil
	}
	if known.flow != nil {
		return t.start(known.flow)
	}
	err := t.handle(known.handler, args)
	if errors.Is(err, ErrUsage) {
		return usageError(fill(t.T(t.bot.texts.Usage), "usage", known.usage))
	}
	return err
}

// fired runs the handler of a timer's kind.
func (t *turn) fired() error {
	kind, _, _ := strings.Cut(t.Timer().Name, "/")
	if kind == flow.TimeoutKind {
		return t.timeUp()
	}
	h := t.bot.timers[kind]
	if h == nil {
		return errIgnored
	}
	return t.handle(h, "")
}

// timeUp lets the flow that waits go on without an answer.
func (t *turn) timeUp() error {
	if t.chat.Position == nil || t.chat.Position.IsLost() || t.chat.Human {
		return errIgnored
	}
	p := *t.chat.Position
	return t.move(func(f flow.Definition) (*flow.Position, error) {
		at, effect, err := f.TimeUp(t.Turn, p)
		if err == nil && !effect {
			return nil, errIgnored
		}
		return at, err
	})
}

// handle runs a plain handler. An open question stays open.
func (t *turn) handle(h Handler, args string) error {
	c := &Context{Turn: t.Turn, bot: t.bot, args: args, values: newValues(t.chat.Values)}
	if t.bot.meanwhile != flow.Queue {
		t.Meanwhile(t.bot.meanwhile)
	}
	err := h(c)
	if errors.Is(c.values.err, flow.ErrStranded) {
		return c.values.err // what the handler made of a value that it did not have says nothing
	}
	if err != nil {
		return err
	}
	all, err := c.values.encode()
	if err != nil {
		return err
	}
	t.chat.Values = all
	return nil
}

// start begins a flow, in place of itself but of no other.
func (t *turn) start(f flow.Definition) error {
	if p := t.chat.Position; p != nil && p.Flow != f.Name() {
		t.Say(fill(t.T(t.bot.texts.Busy), "flow", p.Flow))
		return nil
	}
	t.chat.Human = false
	p, err := f.Start(t.Turn)
	if err != nil {
		return err
	}
	return t.went(p)
}

// cancel ends the flow that waits. One that can not go on in this build ends too,
// so that /cancel always leads out.
func (t *turn) cancel() error {
	p := t.chat.Position
	switch {
	case p == nil && t.cancelled:
		t.Say(t.T(t.bot.texts.Cancelled))
		return nil
	case p == nil:
		t.Say(t.T(t.bot.texts.NothingToCancel))
		return nil
	}
	err := t.move(func(f flow.Definition) (*flow.Position, error) { return f.Cancel(t.Turn, *p) })
	if errors.Is(err, flow.ErrStranded) {
		t.chat.Position, err = nil, nil
	}
	if err == nil && len(t.Sends()) == 0 {
		t.Say(t.T(t.bot.texts.Cancelled))
	}
	return err
}

// expired answers a button of an earlier question, and asks the open one again.
func (t *turn) expired() error {
	if t.chat.Position == nil {
		t.Say(t.T(t.bot.texts.Expired))
		return nil
	}
	return t.askAgain(t.T(t.bot.texts.Expired))
}

// back asks the question before the open one.
func (t *turn) back() error {
	p := t.chat.Position
	if p == nil {
		t.Say(t.T(t.bot.texts.NothingBefore))
		return nil
	}
	t.chat.Human = false
	err := t.move(func(f flow.Definition) (*flow.Position, error) { return f.Back(t.Turn, *p) })
	if errors.Is(err, flow.ErrFirst) {
		return t.askAgain(t.T(t.bot.texts.NothingBefore))
	}
	return err
}

// help is what helps with the open question, empty if nothing does.
func (t *turn) help() string {
	p := t.chat.Position
	if p == nil || t.bot.flows[p.Flow] == nil {
		return ""
	}
	return t.bot.flows[p.Flow].Help(*p)
}

// askAgain repeats the open question after a hint.
func (t *turn) askAgain(hint string) error {
	t.chat.Human = false
	p := *t.chat.Position
	return t.move(func(f flow.Definition) (*flow.Position, error) { return f.AskAgain(t.Turn, p, hint) })
}

// move lets the flow that waits go on.
func (t *turn) move(on func(flow.Definition) (*flow.Position, error)) error {
	f := t.bot.flows[t.chat.Position.Flow]
	if f == nil {
		return fmt.Errorf("%w: there is no flow %q", flow.ErrStranded, t.chat.Position.Flow)
	}
	p, err := on(f)
	if err != nil {
		return err
	}
	return t.went(p)
}
