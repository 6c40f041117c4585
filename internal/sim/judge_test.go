package sim

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// rest is within what the world comes to rest when the last fault is over: two
// leases and the time that retries take.
const rest = 2*lease + 30*time.Second

// judge knows what has landed, and says what must not have.
type judge struct {
	s        *sim
	mu       sync.Mutex
	chats    map[string]*chat
	keys     []string // of the chats, sorted
	records  map[string]*record
	errands  map[string]*errand
	looked   map[string]uint64 // by epoch how far the journal was looked through for timers
	dead     map[string]bool   // subjects of dead letters
	open     map[string]uint64 // writes that landed unanswered, by process and subject
	lost     map[string]bool   // those that did not, by subject and content
	failures []failure
}

// failure is a rule that was broken.
type failure struct{ rule, chat, text string }

func (f failure) String() string { return f.rule + " " + f.chat + ": " + f.text }

// chat is what has landed of a chat.
type chat struct {
	key string
	// The checkpoint.
	rev  uint64
	ends time.Time
	cp   checkpoint.Checkpoint
	// late wrote the last checkpoint under a journal that was gone by then, after that
	// process had left if posthumous.
	late       *process
	posthumous bool
	// The journal, and what took effect of it.
	records []*record
	applied map[string]bool // ids
	history []string
	// The outbox.
	letters  []*letter // as they were committed
	appended int       // how many of them are in the outbox, or were
	last     uint64    // the place of the last one, in the outbox there is
	chain    entry
	chainAt  time.Time
	chainSeq uint64
}

// record is a journaled record.
type record struct {
	chat     string
	epoch    string
	seq      uint64
	id       string
	event    bool
	timer    string // the id of the timer that fired, if it is of one
	order    order
	told     []string // texts of what a command orders to be sent
	optional bool     // gone with the journal, or removed
	done     bool     // applied, passed or set aside
	alone    int      // deaths of processes in which it ran alone
}

// letter is a letter that was committed.
type letter struct {
	botmesh.Letter
	parts    []*part
	optional bool // gone with the outbox
	seq      uint64
	landed   time.Time
}

// part is one call to make.
type part struct {
	id, text string
	index    int // among all of the chat
	optional bool
	made     []*made // the calls that the platform took
	receipt  string
	inDoubt  bool
	dead     bool
}

func newJudge(s *sim) *judge {
	j := &judge{s: s, chats: map[string]*chat{}, records: map[string]*record{}, errands: map[string]*errand{}, looked: map[string]uint64{}, dead: map[string]bool{},
		open: map[string]uint64{}, lost: map[string]bool{}}
	for i := range s.weather.chats {
		key := chatKey(i).Key()
		j.chats[key] = &chat{key: key, applied: map[string]bool{}}
		j.keys = append(j.keys, key)
	}
	return j
}

// fail notes that a rule is broken.
func (j *judge) fail(rule, chat, format string, args ...any) {
	f := failure{rule, chat, fmt.Sprintf(format, args...)}
	j.s.note("BROKEN %v", f)
	j.failures = append(j.failures, f)
}

func (j *judge) failed() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.failures) > 0
}

// stored looks at a write that landed.
func (j *judge) stored(p *process, kind string, m jet.Publish, seq uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if m.Expect != nil && *m.Expect > 0 && j.open[p.name+m.Subject] == *m.Expect {
		j.s.stats["unknown, settled as done"]++
	}
	if j.lost[m.Subject+string(m.Data)] {
		j.s.stats["unknown, settled as lost"]++
	}
	what, key, _ := strings.Cut(tail(m.Subject), " ")
	switch {
	case kind == inbox && what == "in":
		j.journaled(key, m.Msg, seq)
	case kind == inbox: // a timer that is armed
		j.s.stats["armed"]++
	case kind == dead:
		j.buried(m)
	case kind == cp && strings.Contains(what, "."):
		j.checkpointed(p, j.chats[what], m, seq)
	case kind == out && what == "out":
		j.posted(j.chats[key], m, seq)
	case kind == out:
		j.chained(p, j.chats[key], m, seq)
	}
}

// unanswered notes a write without an answer, and where it landed if it did.
func (j *judge) unanswered(p *process, m jet.Publish, landed uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if landed > 0 {
		j.open[p.name+m.Subject] = landed
	} else {
		j.lost[m.Subject+string(m.Data)] = true
	}
}

// accepted looks at a record that the platform was told is stored.
func (j *judge) accepted(r botmesh.Record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := j.chats[r.Chat.Key()]
	if !slices.ContainsFunc(c.records, func(o *record) bool { return o.id == r.ID }) {
		j.fail("J1", c.key, "record %s is accepted and not in the journal", r.ID)
	}
}

// journaled notes a record.
func (j *judge) journaled(key string, m jet.Msg, seq uint64) {
	r := &record{chat: key, epoch: j.s.epochs[inbox], seq: seq, id: m.Header.Get("Nats-Msg-Id"), event: m.Header.Get("Bot-Type") == "event"}
	r.id = idOf(r.id)
	if r.timer = m.Header.Get("Bot-Timer"); r.timer != "" {
		r.id = "timer:" + r.timer
	}
	r.order, r.told = orderOf(m.Data)
	if m.Header.Get("Bot-Type") == "command" {
		j.ordered(r)
	}
	j.records[place(r.epoch, seq)] = r
	j.chats[key].records = append(j.chats[key].records, r)
	if d := j.s.desks["nudges-"+r.epoch]; d != nil {
		d.fresh = append(d.fresh, seq)
	}
	j.s.note("record %s is %d of %s", r.id, seq, key)
}

// fired takes the records of timers down, which the stream makes by itself.
func (j *judge) fired() {
	j.mu.Lock()
	defer j.mu.Unlock()
	epoch := j.s.epochs[inbox]
	of, err := j.s.stream(inbox).Range(context.Background(), "bot.in."+bot+".>", j.looked[epoch]+1, 1000)
	if err != nil {
		j.fail("", "", "read the journal: %v", err)
	}
	for _, m := range of {
		j.looked[epoch] = m.Seq
		if _, key, _ := strings.Cut(tail(m.Subject), " "); j.records[place(epoch, m.Seq)] == nil {
			j.s.stats["fired"]++
			j.journaled(key, m.Msg, m.Seq)
		}
	}
}

// idOf is an id without what it is of.
func idOf(id string) string { return id[strings.LastIndexByte(id, ':')+1:] }

func place(epoch string, seq uint64) string { return fmt.Sprint(epoch, ".", seq) }

// buried notes a dead letter.
func (j *judge) buried(m jet.Publish) {
	if j.dead[m.Subject] {
		j.fail("I1", "", "%s is set aside twice", m.Subject)
	}
	j.dead[m.Subject] = true
	part := m.Header.Get("Bot-Dead-Part")
	if part == "" {
		return
	}
	for _, c := range j.chats {
		if p := c.part(part); p != nil {
			p.dead = true
		}
	}
}

// parts are all parts that the chat was to see, in order.
func (c *chat) part(id string) *part {
	for _, l := range c.letters {
		for _, p := range l.parts {
			if p.id == id {
				return p
			}
		}
	}
	return nil
}

// confirmed reports whether the effects of the chat's checkpoint are where they
// are to be.
func (j *judge) confirmed(c *chat) bool {
	e := c.cp.Effects
	switch {
	case e == nil:
		return true
	case e.Dead != nil && !j.dead[deadSubject(c.key, e.Dead)]:
		return false
	case slices.ContainsFunc(e.Commands, func(m checkpoint.Command) bool { return !j.errands[idOf(m.ID)].landed }):
		return false
	case e.Letter == nil:
		return true
	}
	i := slices.IndexFunc(c.letters, func(l *letter) bool { return l.ID == e.Letter.ID })
	return i < c.appended || c.letters[i].optional
}

func deadSubject(key string, d *checkpoint.Dead) string {
	return fmt.Sprintf("bot.dead.%s.%s.%s-%d", bot, key, d.Epoch, d.Seq)
}

// acknowledged looks at an acknowledgement that landed.
func (j *judge) acknowledged(p *process, epoch string, seq uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.records[place(epoch, seq)]
	if r == nil || r.optional {
		return
	}
	c := j.chats[r.chat]
	switch {
	case c.cp.Epoch == epoch && seq < c.cp.Cursor:
		return
	case c.cp.Epoch != epoch || seq > c.cp.Cursor:
		j.fail("I9", c.key, "%s acknowledged %d, the cursor is %d of %s", p.name, seq, c.cp.Cursor, c.cp.Epoch)
	case !j.confirmed(c) && !c.sentBy(c.cp.Effects.Letter, epoch, seq+1):
		j.fail("I9", c.key, "%s acknowledged %d, its effects are not confirmed", p.name, seq)
	}
	for _, l := range c.letters[:c.appended] {
		if !l.optional && l.seq > c.chain.Through && !c.sentBy(&l.Letter, epoch, seq+1) {
			j.fail("I9", c.key, "%s acknowledged %d, letter %s is not settled", p.name, seq, l.ID)
		}
	}
}

// sentBy reports whether a letter is of a record in mid-turn, which has a nudge of
// its own to stand for it: one at or after a sequence.
func (c *chat) sentBy(l *botmesh.Letter, epoch string, from uint64) bool {
	if l == nil {
		return false
	}
	rest, ok := strings.CutPrefix(l.ID, c.key+"/"+epoch+".")
	number, _, eager := strings.Cut(rest, "/e")
	seq, err := strconv.ParseUint(number, 10, 64)
	return ok && eager && err == nil && seq >= from
}

// unapplied draws a record that has taken no effect and is not the last such of its
// chat, nil if there is none. The nudge of the last one may stand for letters by
// now: whoever deletes it strands them until the user writes again. So it is with a
// timer that has fired, until somebody looks at the chat.
func (j *judge) unapplied(rng *rand.Rand) *record {
	var of []*record
	for _, c := range j.chats {
		var waiting []*record
		for _, r := range c.records {
			if !r.done && !r.optional && r.timer == "" && r.epoch == j.s.epochs[inbox] {
				waiting = append(waiting, r)
			}
		}
		of = append(of, waiting[:max(0, len(waiting)-1)]...)
	}
	if len(of) == 0 {
		return nil
	}
	sort.Slice(of, func(a, b int) bool { return of[a].seq < of[b].seq })
	return of[rng.IntN(len(of))]
}

// journalGone takes it down that what was not applied is lost.
func (j *judge) journalGone() {
	for _, r := range j.records {
		r.optional = r.optional || !r.done
	}
}

// outboxGone takes it down that what was not delivered is lost.
func (j *judge) outboxGone() {
	for _, c := range j.chats {
		for _, l := range c.letters {
			l.optional = true
			for _, p := range l.parts {
				p.optional = true
			}
		}
		c.last, c.chain, c.chainSeq, c.chainAt = 0, entry{}, 0, time.Time{}
	}
}

// work is how long the bot itself needs for what is left to do, if one record after
// the other is run: so it is while one is to be alone.
func (j *judge) work() (sum time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range j.chats {
		for _, r := range c.records {
			if r.done || r.event || r.timer != "" {
				continue
			}
			n := 1
			if r.order.Slow > settle {
				n = tries
			}
			if r.order.Kill {
				n = 4
				sum += 4 * 4 * lease // each death costs a lease, and those beside it another
			}
			sum += time.Duration(n)*min(r.order.Slow, settle) + time.Duration(r.order.Fail)*2*retry
		}
	}
	return sum
}

// died looks at what a process did when it died.
func (j *judge) died(p *process) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range j.chats {
		if k := c.cp.Claim; k != nil && k.Alone && k.Incarnation == p.inner.Incarnation() {
			j.head(c).alone++
		}
	}
}

// head is the record that a checkpoint's tries are of.
func (j *judge) head(c *chat) *record {
	if t := c.cp.Tries; t != nil && j.records[place(t.Epoch, t.Record)] != nil {
		return j.records[place(t.Epoch, t.Record)]
	}
	return &record{}
}

// runs notes a run that begins.
func (j *judge) runs(p *process, id string, chat *chat) {
	j.mu.Lock()
	defer j.mu.Unlock()
	// Who goes on from a copy, since it had the chat last, may not know of the deaths that
	// were written meanwhile. Its commit is refused.
	t, claim := chat.cp.Tries, chat.cp.Claim
	suspect := t != nil && t.Deaths >= 2 && j.head(chat).id == id &&
		claim != nil && claim.Alone && claim.Incarnation == p.inner.Incarnation()
	if suspect {
		j.s.stats["suspect alone"]++
	}
	p.runs[id] = run{suspect, time.Now()}
}

// run is a run of the bot: that of a record which is to run alone, or any other.
type run struct {
	alone bool
	began time.Time
}

// leftBehind reports whether a process gave a run up while it was frozen: the clocks of
// a frozen process go on, and by them the run was overdue.
func (p *process) leftBehind(r run) bool {
	overdue := r.began.Add(settle)
	return !overdue.Before(p.froze) && !overdue.After(p.thawed)
}

// company looks at what runs beside a record that is to run alone.
func (j *judge) company(of []*process) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, p := range of {
		if p.frozen(time.Now()) {
			continue
		}
		of := maps.Clone(p.runs)
		maps.DeleteFunc(of, func(_ string, r run) bool { return p.leftBehind(r) })
		for id, r := range of {
			if r.alone && len(of) > 1 {
				j.fail("N6", "", "%s is to run alone on %s, and there run %v", id, p.name, slices.Sorted(maps.Keys(of)))
				return
			}
		}
	}
}

// ran looks at a run that ended.
func (j *judge) ran(p *process, id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(p.runs, id)
}
