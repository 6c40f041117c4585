package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh/e2e/history"
)

// rest checks I7: at the end nothing is left to do for a chat, and it came to rest
// soon after the last fault was healed and its last message was posted.
func (w *world) rest(c *chat) {
	w.looked("I7", 1)
	var last revision
	if n := len(c.revisions); n > 0 {
		last = c.revisions[n-1]
	}
	if n := len(c.records); n > 0 && c.records[n-1].seq > last.cp.Cursor {
		w.violate("I7", c.key, "%s waits: the cursor stands at %d, revision %d", c.records[n-1], last.cp.Cursor, last.seq)
	}
	until := w.deadline(c)
	for _, t := range last.cp.Timers {
		if t.At.Before(until) {
			w.violate("I7", c.key, "timer %s, due at %s, has not fired", t.ID, w.when(t.At))
		}
	}
	if l := last.letter(); l != nil {
		if _, _, ok := c.flushed(l.ID); !ok {
			w.violate("I7", c.key, "letter %s of revision %d waits to be put into OUTBOX", l.ID, last.seq)
		}
	}
	var through uint64
	for _, l := range c.links {
		through = max(through, l.Through)
	}
	if n := len(c.letters); n > 0 && c.letters[n-1].seq > through {
		w.violate("I7", c.key, "letter %s at %d in OUTBOX is not settled: the delivery stands at %d", c.letters[n-1].ID, c.letters[n-1].seq, through)
	}
	if what, at := c.lastAct(); at.After(until) {
		w.violate("I7", c.key, "still at work at %s (%s), want it at rest by %s", w.when(at), what, w.when(until))
	}
}

// deadline is when a chat must be at rest: some time after the last fault was healed,
// its last message or send was posted, or its last timer was due.
func (w *world) deadline(c *chat) time.Time {
	from := w.healed
	for _, o := range slices.Concat(c.ops[history.Webhook], c.ops[history.Order]) {
		from = max(from, o.Call.T, o.Result.T)
	}
	at := w.began.Wall.Add(time.Duration(from - w.began.T))
	for _, r := range c.revisions {
		for _, t := range r.cp.Timers {
			if t.At.After(at) {
				at = t.At
			}
		}
	}
	return at.Add(w.IdleWithin)
}

// lastAct is the last that was done for a chat.
func (c *chat) lastAct() (what string, at time.Time) {
	for _, r := range c.revisions {
		if r.at.After(at) {
			what, at = fmt.Sprintf("revision %d", r.seq), r.at
		}
	}
	for _, l := range c.links {
		if l.at.After(at) {
			what, at = fmt.Sprintf("%s at %d of its receipts", l.Kind, l.seq), l.at
		}
	}
	return what, at
}

// nudges checks that no record is still to be handed out or acknowledged.
func (w *world) nudges() {
	if w.underWay() {
		w.violate("I7", "", "%d timers have not fired, %d records were not handed out and %d not acknowledged", w.Armed, w.Waiting, w.Unacked)
	}
}

// The bounds of what Redis keeps: of an idle chat, and of none.
const (
	keysPerChat  = 2
	fieldsPerKey = 16
	otherKeys    = 64
)

// bounds checks I8.
func (w *world) bounds() {
	keys := map[string]int{}
	for _, k := range w.Redis {
		_, chat, _ := strings.Cut(k.Key, "{")
		chat, _, _ = strings.Cut(chat, "}")
		if _, ok := w.chats[chat]; !ok {
			chat = ""
		}
		keys[chat]++
		switch {
		case chat == "" && keys[chat] == otherKeys+1:
			w.violate("I8", "", "more than %d keys of no chat are in Redis, %s too", otherKeys, k.Key)
		case chat == "":
		case k.TTL <= 0:
			w.violate("I8", chat, "the key %s stays in Redis for good", k.Key)
		case k.Fields > fieldsPerKey:
			w.violate("I8", chat, "the key %s of an idle chat holds %d fields, want at most %d", k.Key, k.Fields, fieldsPerKey)
		case keys[chat] == keysPerChat+1:
			w.violate("I8", chat, "an idle chat has more than %d keys in Redis, %s too", keysPerChat, k.Key)
		}
	}
	for _, u := range w.Usage {
		if u.After > u.Limit {
			w.violate("I8", "", "%s of %s at the end: %d, want at most %d", u.What, u.Process, u.After, u.Limit)
		}
	}
	w.looked("I8", len(w.Redis)+len(w.Usage))
}
