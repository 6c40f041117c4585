package bot

import (
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/flow"
)

// Meanwhile sets what becomes of messages that come while a handler runs, of all
// handlers but those of flows; these have [flow.Meanwhile]. A handler may change it, see
// [flow.Turn.Meanwhile]. Without it they wait.
func (b *Bot) Meanwhile(p flow.Policy) *Bot {
	b.meanwhile = p
	return b
}

// Burst makes one message of what users write in quick succession, where no flow waits or
// its question has no [flow.Burst]; see there.
func (b *Bot) Burst(window time.Duration) *Bot {
	if window < 0 || window > flow.MaxBurst {
		b.fault("the window of bursts is %v, want at most %v", window, flow.MaxBurst)
	}
	b.burst = window
	return b
}

// albumWindow is how far the messages of an album are apart at most.
const albumWindow = time.Second

// gather takes into a message what belongs to it of what comes right after it: the rest of
// its album, and under [flow.Burst] all else that the user says.
func (t *turn) gather() error {
	r := t.Record()
	if r.Type != botmesh.TypeMessage || isCommand(r) {
		return nil
	}
	window, album := t.bot.burst, r.Message.Group
	if p := t.chat.Position; p != nil && !p.IsLost() && t.bot.flows[p.Flow] != nil {
		if w, set := t.bot.flows[p.Flow].Burst(*p); set {
			window = w
		}
	}
	all := window > 0
	if album != "" {
		window = max(window, albumWindow)
	}
	if window == 0 {
		return nil
	}
	return t.Gather(window, func(next botmesh.Record) bool {
		return next.Type == botmesh.TypeMessage && next.User == r.User && !isCommand(next) && (all || next.Message.Group == album)
	})
}

// isCommand reports whether a record is a command, of any name.
func isCommand(r botmesh.Record) bool {
	_, _, ok := parseCommand(textOf(r))
	return ok
}

// isCancel reports whether a record is the wish to cancel.
func isCancel(r botmesh.Record) bool {
	name, _, ok := parseCommand(textOf(r))
	return ok && strings.EqualFold(name, cancel)
}

// Leaves reports whether a record is the wish to cancel, or an operator's to forget the
// chat, which leads out of what this bot can not go on with. See [flow.ErrStranded].
func (b *Bot) Leaves(r botmesh.Record) bool {
	return forgets(r) || (r.Type == botmesh.TypeMessage || r.Type == botmesh.TypeCallback) && isCancel(r)
}

// textOf is what a user wrote or, of a pressed button, its payload.
func textOf(r botmesh.Record) string {
	if r.Type == botmesh.TypeCallback {
		return r.Message.Payload
	}
	return r.Message.Text
}

// interruptedBy is the wish to cancel that ended the run before this one, if one did.
func interruptedBy(run botmesh.Run) bool {
	n := len(run.Also)
	return n > 0 && isCancel(run.Also[n-1])
}
