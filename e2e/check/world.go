package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/e2e/lab/bot/chain"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// world is the evidence, chat by chat.
type world struct {
	Evidence
	chats  map[string]*chat
	epoch  string // of the journal
	began  history.Event
	healed int64 // when no fault was left, zero if nobody said so
	faults []history.Operation
	ends   map[string][]int64    // when each process died or stopped itself
	stalls map[string][]interval // when each process stood still
	v      *Verdict
}

// interval is a time, from and to.
type interval struct{ from, to int64 }

// chat is all that is known of one chat, each in its order.
type chat struct {
	key       string
	records   []record
	revisions []revision
	letters   []letter
	place     map[string]int // of each letter among them, by id
	links     []link
	dead      []burial
	arms      map[string][]history.Operation // of timers, by id

	shown []history.Event // what the user saw
	ops   map[history.Kind][]history.Operation
}

type record struct {
	seq  uint64
	at   time.Time
	id   string
	typ  botmesh.RecordType
	text string
	said []string // what a backend has said to the chat
}

// posted reports whether r comes from outside, and a bot is to do something about it.
func (r record) posted() bool {
	return r.typ == botmesh.TypeMessage || r.typ == botmesh.TypeCallback || r.typ == botmesh.TypeCommand
}

// handled reports whether a bot is to do something about r after a revision.
func (r record) handled(prev revision) bool {
	_, armed := prev.armed(r.id)
	return r.posted() || r.typ == botmesh.TypeTimer && armed
}

func (r record) String() string { return fmt.Sprintf("record %d (%s)", r.seq, r.id) }

type revision struct {
	seq     uint64
	at      time.Time
	nonce   string
	expect  string // what the write expected, empty if the stream does not tell
	cp      checkpoint.Checkpoint
	chain   chain.Chain
	waiting bool
}

// letter is the letter of r's effects, nil if there is none.
func (r revision) letter() *botmesh.Letter {
	if r.cp.Effects == nil {
		return nil
	}
	return r.cp.Effects.Letter
}

type letter struct {
	seq uint64
	at  time.Time
	botmesh.Letter
}

// link is an entry of a receipt chain.
type link struct {
	seq     uint64
	at      time.Time
	By      string           `json:"by"`
	Kind    string           `json:"kind"`
	Through uint64           `json:"through"`
	Receipt *botmesh.Receipt `json:"receipt"`
}

// burial is a dead letter: name is the end of its subject.
type burial struct {
	at   time.Time
	name string
}

func newWorld(e Evidence, v *Verdict) *world {
	e.cut()
	w := &world{Evidence: e, ends: map[string][]int64{}, stalls: map[string][]interval{}, v: v}
	if len(e.Events) > 0 {
		w.began = e.Events[0]
	}
	w.readEvents()
	return w
}

// of is the world with some of its chats.
func (w *world) of(part Evidence) *world {
	part.Taken = w.Taken
	part.cut()
	some := *w
	some.Inbox, some.Outbox, some.Dead, some.Checkpoints, some.Events = part.Inbox, part.Outbox, part.Dead, part.Checkpoints, part.Events
	some.chats = map[string]*chat{}
	some.readStreams()
	some.readChats()
	return &some
}

// cut leaves out what is later than the evidence.
func (e *Evidence) cut() {
	if e.Taken.IsZero() {
		return
	}
	for _, stream := range []*[]jet.Stored{&e.Inbox, &e.Outbox, &e.Dead, &e.Checkpoints} {
		*stream = slices.DeleteFunc(slices.Clone(*stream), func(m jet.Stored) bool { return m.Time.After(e.Taken) })
	}
	e.Events = slices.DeleteFunc(slices.Clone(e.Events), func(h history.Event) bool { return h.Wall.After(e.Taken) })
}

// underWay reports whether something was still to be done when the evidence was
// taken: what is missing then is late, and not yet lost.
func (w *world) underWay() bool { return w.Armed+w.Waiting+w.Unacked > 0 }

// each calls f for every chat, in the order of their keys.
func (w *world) each(f func(*chat)) {
	for _, key := range slices.Sorted(maps.Keys(w.chats)) {
		f(w.chats[key])
	}
}

func (w *world) chat(key string) *chat {
	c := w.chats[key]
	if c == nil {
		c = &chat{key: key, place: map[string]int{}, ops: map[history.Kind][]history.Operation{}, arms: map[string][]history.Operation{}}
		w.chats[key] = c
	}
	return c
}

// readStreams sorts what the streams hold. What can not be read breaks a promise.
func (w *world) readStreams() {
	read := map[family]func(*chat, jet.Stored) error{
		records: readRecord, checkpoints: w.readRevision, letters: readLetter, entries: readLink, graves: readBurial,
	}
	for _, stream := range [][]jet.Stored{w.Inbox, w.Checkpoints, w.Outbox, w.Dead} {
		for _, m := range stream {
			f, key := familyOf(w.Bot, m.Subject)
			if key == "" || read[f] == nil {
				continue
			}
			if err := read[f](w.chat(key), m); err != nil {
				w.violate("I1", key, "message %d on %s can not be read: %v", m.Seq, m.Subject, err)
			}
		}
	}
}

func readRecord(c *chat, m jet.Stored) error {
	var body struct {
		Message botmesh.Message `json:"message"`
		Sends   []botmesh.Send  `json:"sends"`
	}
	if err := json.Unmarshal(m.Data, &body); err != nil {
		return err
	}
	id := strings.SplitN(m.Header.Get(nats.MsgIdHdr), ":", 3) // bot, provider, id
	r := record{
		seq: m.Seq, at: m.Time, id: cmp.Or(id[len(id)-1], m.Header.Get("Bot-Timer")), typ: botmesh.RecordType(m.Header.Get("Bot-Type")), text: body.Message.Text,
	}
	for _, s := range body.Sends {
		r.said = append(r.said, s.Text)
	}
	c.records = append(c.records, r)
	return nil
}

func (w *world) readRevision(c *chat, m jet.Stored) error {
	r := revision{
		seq: m.Seq, at: m.Time, nonce: m.Header.Get("Bot-Nonce"), expect: m.Header.Get(jetstream.ExpectedLastSubjSeqHeader),
	}
	var err error
	if r.cp, err = checkpoint.Decode(m.Data); err != nil {
		return err
	}
	if r.chain, r.waiting, err = chain.Read(r.cp.State); err != nil {
		return err
	}
	w.epoch = r.cp.Epoch
	c.revisions = append(c.revisions, r)
	return nil
}

func readLetter(c *chat, m jet.Stored) error {
	l := letter{seq: m.Seq, at: m.Time}
	if err := json.Unmarshal(m.Data, &l.Letter); err != nil {
		return err
	}
	if _, twice := c.place[l.ID]; !twice {
		c.place[l.ID] = len(c.letters)
	}
	c.letters = append(c.letters, l)
	return nil
}

func readLink(c *chat, m jet.Stored) error {
	l := link{seq: m.Seq, at: m.Time}
	if err := json.Unmarshal(m.Data, &l); err != nil {
		return err
	}
	c.links = append(c.links, l)
	return nil
}

func readBurial(c *chat, m jet.Stored) error {
	c.dead = append(c.dead, burial{m.Time, m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]})
	return nil
}

// operations are the kinds that belong to a chat and have a length.
var operations = []history.Kind{
	history.Webhook, history.Order, history.Arm, history.Take, history.Release, history.Load, history.Commit, history.Letter, history.Chain, history.Ack, history.Call,
}

// readChats sorts what was done for each chat, and what its user saw.
func (w *world) readChats() {
	for _, o := range history.Operations(w.Events, operations...) {
		if o.Call.Chat == "" {
			continue
		}
		c := w.chat(o.Call.Chat)
		c.ops[o.Call.Kind] = append(c.ops[o.Call.Kind], o)
		if o.Call.Kind == history.Arm {
			c.arms[o.Call.ID] = append(c.arms[o.Call.ID], o)
		}
	}
	for _, e := range w.Events {
		if e.Kind == history.Platform && e.Chat != "" && e.Outcome != history.Refused {
			c := w.chat(e.Chat)
			c.shown = append(c.shown, e)
		}
	}
}

// readEvents sorts what is of no chat.
func (w *world) readEvents() {
	w.faults = history.Operations(w.Events, history.Fault)
	for _, e := range w.Events {
		switch e.Kind {
		case history.Healed:
			w.healed = e.T
		case history.Exited:
			w.ends[e.Target] = append(w.ends[e.Target], e.T)
		case history.Point:
			w.ends[e.Process] = append(w.ends[e.Process], e.T)
		case history.Stall:
			w.stalls[e.Process] = append(w.stalls[e.Process], interval{e.T - int64(e.Took), e.T})
		}
	}
}

// violate notes a broken promise.
func (w *world) violate(id, chat, format string, args ...any) {
	f := w.finding(id)
	f.Violations = append(f.Violations, Violation{Chat: chat, Account: fmt.Sprintf(format, args...)})
}

// looked counts what an invariant was checked on.
func (w *world) looked(id string, n int) { w.finding(id).Checked += n }

func (w *world) finding(id string) *Finding {
	i := slices.IndexFunc(w.v.Findings, func(f Finding) bool { return f.ID == id })
	return &w.v.Findings[i]
}

// vacuous notes what was not proved.
func (w *world) vacuous(format string, args ...any) {
	w.v.Vacuous = append(w.v.Vacuous, fmt.Sprintf(format, args...))
}

// at tells a time of the machine's clock, since the run began.
func (w *world) at(t int64) string {
	if t == history.Forever {
		return "never"
	}
	return seconds(time.Duration(t - w.began.T))
}

// when tells a server's time, since the run began.
func (w *world) when(t time.Time) string { return seconds(t.Sub(w.began.Wall)) }

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) + "s" }
