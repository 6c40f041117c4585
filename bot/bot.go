package bot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/flow"
)

// Handler handles a message. Its error fails the run: nothing it said or changed
// takes effect, and the record is run again later.
//
// A handler may run several times for one message, until a run ends well. It must
// not keep c, and must return soon after c.Context() ends.
type Handler func(c *Context) error

// ErrUsage is returned by the handler of a command whose arguments will not do.
// The bot says how the command is used, and nothing else of the run is kept.
var ErrUsage = errors.New("bot: the arguments will not do")

// Bot is what an author registers. It is filled by one goroutine, and then safe
// for concurrent use. The methods that fill it return it, so that they can be
// chained.
type Bot struct {
	commands  map[string]*command
	usages    []string // in the order they were registered
	flows     map[string]flow.Definition
	words     map[string]flow.Definition // triggers that are no commands, in lower case
	timers    map[string]Handler         // by the kind of a timer
	events    events
	fallback  Handler
	human     Handler
	texts     Texts
	meanwhile flow.Policy // of handlers
	burst     time.Duration
	faults    []error

	before    []func(in *Incoming) error
	after     []Handler
	handover  *Handover // nil while the author says nothing of it
	failed    []func(ctx context.Context, run botmesh.Run, err error)
	handed    []func(ctx context.Context, m botmesh.Handover)
	lost      []func(ctx context.Context, m botmesh.TurnLost)
	languages map[string]map[string]string // texts by the language's tag, in lower case
	locale    func(c *Context) string
}

// command is what a command does: run a handler or begin a flow.
type command struct {
	usage   string
	handler Handler
	flow    flow.Definition
}

// The commands that are the bot's own. Every bot has the first; the others are
// there when a flow, or the bot, has what they are for, and help may also be the author's.
const (
	cancel = "/cancel"
	back   = "/back"
	help   = "/help"
	human  = "/human"
	again  = "/bot"
)

// New makes a bot that knows nothing but /cancel. What is wrong with what is
// registered is told by Validate.
func New() *Bot {
	return &Bot{
		commands: map[string]*command{},
		flows:    map[string]flow.Definition{},
		words:    map[string]flow.Definition{},
		timers:   map[string]Handler{},
		texts:    Texts{}.withDefaults(),

		languages: map[string]map[string]string{},
	}
}

// Command runs handler when a user writes a command, in whatever case. The usage
// is the command and, for people, its arguments: "/echo <text>".
func (b *Bot) Command(usage string, handler Handler, opts ...HandlerOption) *Bot {
	if handler == nil {
		b.fault("command %q has no handler", usage)
	}
	name, _, _ := strings.Cut(usage, " ")
	b.add(name, &command{usage: usage, handler: b.with("command "+name, handler, opts)})
	return b
}

// Flow adds a flow, to begin at its triggers.
func (b *Bot) Flow(f flow.Definition) *Bot {
	if b.flows[f.Name()] != nil {
		b.fault("flow %q is registered twice", f.Name())
	}
	b.flows[f.Name()] = f
	for _, trigger := range f.Triggers() {
		word := strings.ToLower(trigger)
		switch {
		case strings.HasPrefix(word, "/"):
			b.add(word, &command{usage: trigger, flow: f})
		case word == "" || word != strings.TrimSpace(word):
			b.fault("trigger %q of flow %q is empty or has space around it", trigger, f.Name())
		case b.words[word] != nil:
			b.fault("trigger %q is registered twice", trigger)
		default:
			b.words[word] = f
		}
	}
	return b
}

// Timer handles timers of a kind: those whose name is the kind, or begins with it and
// a slash. A handler finds the one that fired in c.Timer(), and sets timers with c.Arm.
// A question that is open stays open. A timer without a handler has no effect.
func (b *Bot) Timer(kind string, handler Handler, opts ...HandlerOption) *Bot {
	switch {
	case kind == "" || strings.Contains(kind, "/"):
		b.fault("timer kind %q is empty or has a slash", kind)
	case kind == flow.TimeoutKind:
		b.fault("timer kind %q is the bot's own: use flow.Timeout", kind)
	case handler == nil:
		b.fault("timer kind %q has no handler", kind)
	case b.timers[kind] != nil:
		b.fault("timer kind %q is registered twice", kind)
	}
	b.timers[kind] = b.with("the handler of timer kind "+kind, handler, opts)
	return b
}

// Fallback handles what nothing else does. Without it that has no effect.
func (b *Bot) Fallback(handler Handler, opts ...HandlerOption) *Bot {
	if b.fallback != nil {
		b.fault("the fallback is registered twice")
	}
	b.fallback = b.with("the fallback", handler, opts)
	return b
}

// Texts replaces what the bot says by itself. Empty texts keep their default.
func (b *Bot) Texts(t Texts) *Bot {
	b.texts = t.withDefaults()
	return b
}

// Commands are the usages of all commands, in the order they were registered, the
// bot's own last.
func (b *Bot) Commands() []string {
	all := slices.Clone(b.usages)
	if b.helps() && b.commands[help] == nil {
		all = append(all, help)
	}
	if b.goesBack() {
		all = append(all, back)
	}
	if b.human != nil {
		all = append(all, human, again)
	}
	return append(all, cancel)
}

func (b *Bot) goesBack() bool { return b.any(flow.Definition.GoesBack) }

func (b *Bot) helps() bool { return b.any(flow.Definition.Helps) }

func (b *Bot) any(has func(flow.Definition) bool) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(b.flows)), has)
}

// Lock is the [flow.Lock] of all flows of the bot.
func (b *Bot) Lock() string { return flow.Lock(slices.Collect(maps.Values(b.flows))...) }

// Validate returns everything that is wrong with the bot and its flows, joined.
// Turn may be called only if it returns nil.
func (b *Bot) Validate() error {
	faults := slices.Clone(b.faults)
	if b.goesBack() && b.commands[back] != nil {
		faults = append(faults, fmt.Errorf("bot: command %q is the bot's own: a flow has flow.Back", back))
	}
	for _, name := range []string{human, again} {
		if b.human != nil && b.commands[name] != nil {
			faults = append(faults, fmt.Errorf("bot: command %q is the bot's own: it has Bot.Human", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.flows)) {
		faults = append(faults, b.flows[name].Validate())
	}
	return errors.Join(faults...)
}

func (b *Bot) add(name string, c *command) {
	name = strings.ToLower(name)
	found, _, ok := parseCommand(name)
	switch {
	case !ok || found != name:
		b.fault("command %q does not match /[a-z0-9_]{1,32}", name)
	case name == cancel:
		b.fault("command %q is the bot's own: use flow.OnCancel and bot.Texts", name)
	case b.commands[name] != nil:
		b.fault("command %q is registered twice", name)
	}
	b.commands[name] = c
	b.usages = append(b.usages, c.usage)
}

func (b *Bot) fault(format string, args ...any) {
	b.faults = append(b.faults, fmt.Errorf("bot: "+format, args...))
}
