package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/provider"
)

// entry is one of a chat's receipt chain, as it stands on the wire.
type entry struct {
	ID        string           `json:"id"`
	By        string           `json:"by"`
	Kind      string           `json:"kind"`
	Free      bool             `json:"free"`
	Through   uint64           `json:"through"`
	Parts     int              `json:"parts"`
	Tries     int              `json:"tries"`
	NotBefore time.Time        `json:"not_before"`
	Doubt     int              `json:"doubt"`
	Receipt   *botmesh.Receipt `json:"receipt"`
}

// made is a call that the platform took.
type made struct {
	by    *process
	chat  *chat
	part  *part
	harms int // that had befallen its process when it began
}

// excused reports whether something befell the process since it began the call, so
// that there may be no receipt of it.
func (m *made) excused() bool { return m.by.harms(m.chat.key) > m.harms }

// posted looks at a letter that came into the outbox.
func (j *judge) posted(c *chat, m jet.Publish, seq uint64) {
	j.age(c)
	id := m.Header.Get("Bot-Id")
	j.s.note("letter %s is at %d", id, seq)
	i := slices.IndexFunc(c.letters, func(l *letter) bool { return l.ID == id })
	switch {
	case i < 0:
		j.fail("I5", c.key, "letter %s was never committed", id)
		return
	case i < c.appended && !c.letters[i].optional:
		j.fail("O2", c.key, "letter %s is in the outbox twice", id)
	case m.Expect == nil || *m.Expect != c.last:
		j.fail("O3", c.key, "letter %s follows no letter", id)
	}
	for _, l := range c.letters[min(c.appended, i):i] {
		if !l.optional {
			j.fail("I4", c.key, "letter %s comes before %s", id, l.ID)
		}
	}
	c.appended, c.last = max(c.appended, i+1), seq
	c.letters[i].seq, c.letters[i].landed = seq, time.Now()
}

// age forgets what the outbox has dropped.
func (j *judge) age(c *chat) {
	keep := j.s.weather.retention + j.s.weather.retention/10
	if !c.chainAt.IsZero() && time.Since(c.chainAt) >= keep {
		c.chain, c.chainSeq, c.chainAt = entry{}, 0, time.Time{}
	}
	if len(c.letters) > 0 && c.appended > 0 && time.Since(c.letters[c.appended-1].landed) >= keep {
		c.last = 0
	}
}

// chained looks at an entry of the chain against the one before it.
func (j *judge) chained(p *process, c *chat, m jet.Publish, seq uint64) {
	j.age(c)
	var e entry
	if err := json.Unmarshal(m.Data, &e); err != nil {
		j.fail("D1", c.key, "entry %d: %v", seq, err)
	}
	prev, now := c.chain, time.Now()
	j.s.note("chain %d: %s of %s, free %v, through %d and %d, tries %d until %v, doubt %d", seq, e.Kind, e.By, e.Free, e.Through, e.Parts, e.Tries, e.NotBefore, e.Doubt)
	owns := prev.By == e.By && !prev.Free
	switch {
	case m.Expect == nil || *m.Expect != c.chainSeq:
		j.fail("D1", c.key, "entry %d follows none", seq)
	case e.By != p.name:
		j.fail("D1", c.key, "%s writes for %s", p.name, e.By)
	case e.Through < prev.Through || e.Through == prev.Through && e.Parts < prev.Parts:
		j.fail("D1", c.key, "entry %d goes back from %d and %d to %d and %d", seq, prev.Through, prev.Parts, e.Through, e.Parts)
	case e.Kind != "claim" && !owns:
		j.fail("D2", c.key, "%s writes a %s after one of %s, free %v", e.By, e.Kind, prev.By, prev.Free)
	case e.Kind == "claim" && c.chainSeq > 0 && !prev.Free && prev.By != e.By && now.Sub(c.chainAt) < lease:
		j.fail("D3", c.key, "%s claims from %s after %v", e.By, prev.By, now.Sub(c.chainAt))
	case e.Kind == "claim" && now.Before(prev.NotBefore):
		j.fail("D5", c.key, "%s claims before %v", e.By, prev.NotBefore)
	case e.Kind == "claim" && (e.Tries != prev.Tries || !e.NotBefore.Equal(prev.NotBefore)):
		j.fail("D1", c.key, "a claim forgets tries or pause")
	}
	if e.Kind == "claim" && c.chainSeq > 0 && prev.By != e.By {
		j.s.stats["claim from another"]++
	}
	if e.Receipt != nil {
		j.receipt(c, e)
	}
	c.chain, c.chainSeq, c.chainAt = e, seq, now
}

// receipt looks at what is said of a part.
func (j *judge) receipt(c *chat, e entry) {
	r := e.Receipt
	p := c.part(r.Part)
	switch {
	case p == nil:
		j.fail("I5", c.key, "a receipt of %s, which was never committed", r.Part)
		return
	case p.receipt != "":
		j.fail("D4", c.key, "part %s has two receipts", r.Part)
	case r.Result == botmesh.ResultDelivered && len(p.made) == 0:
		j.fail("I4", c.key, "part %s is delivered, and the platform has it not", r.Part)
	case r.Result == botmesh.ResultPermanent && !p.dead:
		j.fail("D7", c.key, "part %s is set aside, and there is no dead letter", r.Part)
	}
	j.s.stats["receipt "+string(r.Result)]++
	p.receipt, p.inDoubt = string(r.Result), r.InDoubt
}

func (c *chat) provider() string {
	id, _, _ := strings.Cut(c.key, ".")
	return id
}

// calls looks at a call of the platform that begins.
func (j *judge) calls(by *process, call provider.Call) *made {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := j.chats[call.Chat.Key()]
	p := c.part(call.Part)
	m := &made{by: by, chat: c, part: p, harms: by.harms(c.key)}
	switch {
	case p == nil:
		j.fail("I5", c.key, "%s calls %s, which was never committed", by.name, call.Part)
	case p.text != shown(call.Send):
		j.fail("I5", c.key, "%s calls %s with another text", by.name, call.Part)
	case by.dead:
	case c.chain.By != by.name || c.chain.Free:
		j.fail("D2", c.key, "%s calls %s, the chain ends in a %s of %s, free %v", by.name, call.Part, c.chain.Kind, c.chain.By, c.chain.Free)
	case time.Now().Before(c.chain.NotBefore):
		j.fail("D5", c.key, "%s calls %s before %v", by.name, call.Part, c.chain.NotBefore)
	}
	return m
}

// edits looks at an edit that begins: it is of a message that its record sent at once.
func (j *judge) edits(m *made, id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if m.part == nil {
		return
	}
	letter := m.part.id[:strings.LastIndex(m.part.id, "/")]
	grown := letter + "/e0.0"
	if p := m.chat.part(grown); id != message(grown) || p == nil || len(p.made) == 0 {
		j.fail("C7", m.chat.key, "%s is to change message %s", m.part.id, id)
	}
}

// takes looks at a call that the platform takes.
func (j *judge) takes(m *made, edit bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	c, p := m.chat, m.part
	if p == nil {
		return
	}
	first := len(p.made) == 0
	if edit {
		j.s.stats["edit"]++
	}
	if (edit || c.provider() == knows) && !first {
		return // it is the same twice
	}
	p.made = append(p.made, m)
	j.s.note("the platform takes %s: %s", p.id, p.text)
	unexcused := 0
	for _, m := range p.made {
		if !m.excused() {
			unexcused++
		}
	}
	switch {
	case !first && j.s.inDoubt()[c.provider()] == outbox.Hold:
		j.fail("O7", c.key, "part %s was to be held and came %d times", p.id, len(p.made))
	case unexcused > 1:
		j.fail("I4", c.key, "part %s came %d times, %d of them without a doubt", p.id, len(p.made), unexcused)
	case !first:
		j.s.stats["doubled in doubt"]++
	case m.excused():
	default:
		for _, l := range c.letters {
			for _, q := range l.parts {
				if q.index < p.index && len(q.made) == 0 && q.receipt == "" && !q.dead && !q.optional {
					j.fail("I4", c.key, "part %s came before %s", p.id, q.id)
					return
				}
				if q.index > p.index && len(q.made) > 0 {
					j.fail("I4", c.key, "part %s came after %s", p.id, q.id)
					return
				}
			}
		}
	}
}

// forsaken reports whether what is left of the chat waits for its user: a process
// that died did it under a journal that was gone, and nobody can know.
func (c *chat) forsaken() bool { return c.late != nil && (c.late.dead || c.posthumous) }

// unsettled are the letters that are on their way, and the effects.
func (j *judge) unsettled() (left []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, key := range j.keys {
		c := j.chats[key]
		if c.forsaken() {
			continue
		}
		if c.chain.Through < c.last {
			left = append(left, fmt.Sprintf("letters of %s: the last is at %d, settled are those up to %d", key, c.last, c.chain.Through))
		}
		if c.cp.Effects != nil && !j.confirmed(c) && c.cp.OutEpoch == j.s.epochs[out] {
			left = append(left, fmt.Sprintf("effects of %s: %s", key, effects(c.cp)))
		}
		for _, t := range c.cp.Timers {
			left = append(left, fmt.Sprintf("timer %s of %s is armed for %v", t.ID, key, t.At))
		}
	}
	return left
}

// end looks at what is left.
func (j *judge) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.failures) > 0 {
		return
	}
	for _, key := range j.keys {
		c := j.chats[key]
		for _, r := range c.records {
			if !r.done && !r.optional && !c.ignores(r, c.cp) {
				j.fail("I1", key, "record %s took no effect; these did: %s", r.id, strings.Join(c.history, " "))
			}
		}
		for _, l := range c.letters {
			for _, p := range l.parts {
				if c.forsaken() {
					continue
				}
				j.seen(c, l, p)
			}
		}
	}
	j.arrived()
}

// seen looks at what became of a part.
func (j *judge) seen(c *chat, l *letter, p *part) {
	switch {
	case p.optional:
	case p.receipt == "":
		j.fail("I4", c.key, "part %s has no receipt", p.id)
	case len(p.made) == 0 && p.receipt == string(botmesh.ResultDelivered):
		j.fail("I4", c.key, "part %s never came", p.id)
	case len(p.made) > 1 && !p.inDoubt:
		j.fail("O7", c.key, "part %s came %d times, and its receipt is in no doubt", p.id, len(p.made))
	}
}
