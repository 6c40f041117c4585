package sim

import (
	"maps"
	"slices"
	"strings"

	"github.com/botmesh-go/botmesh/checkpoint"
)

// errand is a command that a run in one chat gave to another.
type errand struct {
	from   *chat
	to     string
	text   string
	landed bool // it is in the journal of its chat, or was
}

// sent takes down what a commit asks of other chats.
func (j *judge) sent(c *chat, r *record, of []checkpoint.Command, run string) {
	if n := len(of); n > 1 || n == 1 && r.order.Tell == 0 {
		j.fail("C9", c.key, "record %s asks for %d commands, want at most one", r.id, n)
	}
	for _, m := range of {
		id := idOf(m.ID)
		e := &errand{from: c, to: m.Chat.Key(), text: m.Sends[0].Text}
		switch {
		case j.errands[id] != nil:
			j.fail("C9", c.key, "command %s is committed twice", id)
		case run != "" && !strings.HasPrefix(e.text, run+" "):
			j.fail("I5", c.key, "a command of run %s says %q", run, e.text)
		}
		j.errands[id] = e
	}
}

// ordered looks at a command that came into a chat's journal: a backend's, or one that
// was committed in another chat.
func (j *judge) ordered(r *record) {
	if !strings.Contains(r.id, "/") {
		return // a backend's
	}
	e := j.errands[r.id]
	switch {
	case e == nil:
		j.fail("C9", r.chat, "command %s was never committed", r.id)
		return
	case e.to != r.chat || !slices.Equal(r.told, []string{e.text}):
		j.fail("C9", r.chat, "command %s says %q, want %q in %s", r.id, r.told, e.text, e.to)
	}
	e.landed = true
	j.s.stats["told by another chat"]++
}

// arrived looks at whether each command came to the chat that it is for.
func (j *judge) arrived() {
	for _, id := range slices.Sorted(maps.Keys(j.errands)) {
		if e := j.errands[id]; !e.landed && !e.from.forsaken() {
			j.fail("C9", e.from.key, "command %s never came to %s", id, e.to)
		}
	}
}
