package bot

import (
	"strings"

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
