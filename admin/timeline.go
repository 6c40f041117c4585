package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
)

const (
	defaultTimeline = 100
	maxTimeline     = 2000
)

// Event is one thing that happened to a chat.
type Event struct {
	At time.Time `json:"at"`
	// Chat is whose it is, where that is not asked for.
	Chat string `json:"chat,omitempty"`
	// Kind is record, status, commit, turn, letter, dead or act, or what a chain's entry
	// is: claim, attempt, receipt, retry, wait, free.
	Kind string `json:"kind"`
	// Seq is its place in its stream, of a commit the checkpoint's revision.
	Seq uint64 `json:"seq,omitempty"`
	ID  string `json:"id,omitempty"`
	// By is the incarnation or the operator whose it is.
	By    string `json:"by,omitempty"`
	Trace string `json:"trace,omitempty"` // its trace id
	What  string `json:"what"`
	// State is, of a receipt, what became of the part by now, as the platform told later.
	State outbox.State `json:"state,omitempty"`
	// Text is what was written, if that was asked for.
	Text string `json:"text,omitempty"`
}

// timeline shows what happened to a chat, in the order of time: the newest of it.
// Nothing of what anybody wrote is in it unless text=1 asks for that.
//
// Neither a checkpoint nor a turn keeps a history: what is there now is shown, and of what
// was before what it left: dead letters, and letters with who wrote them under which fence.
func (a *API) timeline(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	chat, err := chatOf(r)
	if err != nil {
		return nil, err
	}
	limit, err := number(r, "limit", defaultTimeline, maxTimeline)
	if err != nil {
		return nil, err
	}
	w := jet.Window{Limit: limit, Newest: true}
	if text := r.FormValue("since"); text != "" {
		if w.Since, err = time.Parse(time.RFC3339, text); err != nil {
			return nil, wrong(fmt.Sprintf("since is %q, want a time as 2006-01-02T15:04:05Z", text))
		}
	}
	t := &timeline{rooms: rooms, chat: chat, text: r.FormValue("text") != "", traces: map[string]string{}, events: []Event{}}
	for _, read := range timelines {
		if _, err := read(t, ctx, w); err != nil {
			return nil, err
		}
	}
	if len(t.events) == 0 {
		if known, err := rooms.knows(ctx, chat); err != nil || !known {
			return nil, cmp.Or(err, absent("%s", unknown(chat)))
		}
	}
	t.attach()
	t.sort()
	return t.events[max(0, len(t.events)-limit):], nil
}

// timeline collects the events of a chat, or with a zero chat of all.
type timeline struct {
	rooms  *Rooms
	chat   botmesh.ChatKey
	text   bool
	traces map[string]string // by part
	events []Event
	// What became of the parts that have a receipt among the events, the places of those, and
	// what the platform told later.
	fates    []outbox.Fate
	receipts []int
	told     []botmesh.Record
}

// timelines are what a timeline is made of. Each adds what is in a window and returns the
// place after the last that it read, the window's own without any.
var timelines = [...]func(*timeline, context.Context, jet.Window) (uint64, error){
	(*timeline).records, (*timeline).statuses, (*timeline).letters, (*timeline).chain, (*timeline).dead, (*timeline).acts,
	(*timeline).commit, (*timeline).turn,
}

// all reports whether the timeline is of all chats.
func (t *timeline) all() bool { return t.chat == botmesh.ChatKey{} }

func (t *timeline) sort() {
	slices.SortStableFunc(t.events, func(a, b Event) int { return a.At.Compare(b.At) })
}

func (t *timeline) add(chat botmesh.ChatKey, e Event, text string) {
	e.At = e.At.UTC()
	if t.all() && chat != (botmesh.ChatKey{}) {
		e.Chat = chat.String()
	}
	if t.text {
		e.Text = text
	}
	t.events = append(t.events, e)
}

func (t *timeline) filter(w jet.Window) journal.Filter {
	return journal.Filter{Chat: t.chat, From: w.From, Since: w.Since, Limit: w.Limit, Newest: w.Newest}
}

func (t *timeline) records(ctx context.Context, w jet.Window) (uint64, error) {
	next := w.From
	entries, err := t.rooms.Journal.List(ctx, t.filter(w))
	for _, e := range entries {
		r := e.Record
		what := string(r.Type)
		switch {
		case e.Err != nil:
			what = "can not be read: " + e.Err.Error()
		case r.RequeueOf != "":
			what += ", again, of " + r.RequeueOf
		case r.ReplayOf != "":
			what += ", replay of record " + r.ReplayOf
		}
		next = r.Seq + 1
		t.add(r.Chat, Event{At: r.Stored, Kind: "record", Seq: r.Seq, ID: r.ID, By: r.User, Trace: traceID(r.Trace), What: what},
			cmp.Or(r.Message.Text, r.Message.Payload))
	}
	return next, err
}

func (t *timeline) statuses(ctx context.Context, w jet.Window) (uint64, error) {
	next := w.From
	f := t.filter(w)
	f.Statuses = true
	entries, err := t.rooms.Journal.List(ctx, f)
	for _, e := range entries {
		r := e.Record
		next = r.Seq + 1
		t.told = append(t.told, r)
		t.add(r.Chat, Event{At: r.Stored, Kind: "status", Seq: r.Seq, ID: r.ID, Trace: traceID(r.Trace),
			What: strings.TrimSpace(r.Message.Status + " " + cmp.Or(r.Message.Of, r.Message.MessageID))}, "")
	}
	return next, err
}

func (t *timeline) letters(ctx context.Context, w jet.Window) (uint64, error) {
	next := w.From
	letters, err := t.rooms.Outbox.History(ctx, t.chat, w)
	for _, l := range letters {
		var said []string
		for _, p := range l.Letter.Parts {
			t.traces[p.ID] = traceID(l.Letter.Trace)
			said = append(said, p.Send.Shown())
		}
		next = l.Seq + 1
		what := fmt.Sprintf("%d parts, committed %s", len(l.Letter.Parts), l.Letter.At.UTC().Format(time.RFC3339Nano))
		if l.Letter.Fence > 0 {
			what += fmt.Sprintf(" under fence %d", l.Letter.Fence)
		}
		t.add(l.Letter.Chat, Event{At: l.At, Kind: "letter", Seq: l.Seq, ID: l.Letter.ID, By: l.Letter.By, Trace: traceID(l.Letter.Trace), What: what},
			strings.Join(said, "\n"))
	}
	return next, err
}

func (t *timeline) chain(ctx context.Context, w jet.Window) (uint64, error) {
	next := w.From
	links, err := t.rooms.Outbox.Chain(ctx, t.chat, w)
	for _, l := range links {
		next = l.Seq + 1
		chat := t.chat
		if t.all() {
			if l.Receipt == nil && l.Tries == 0 {
				continue // who delivers is of interest to who looks at one chat
			}
			var err error
			if chat, err = t.rooms.chatOf(ctx, l.Chat); err != nil {
				continue // its checkpoint is gone, and with it how the chat is called
			}
		}
		e := Event{At: l.At, Kind: l.Kind, Seq: l.Seq, By: l.By}
		switch r := l.Receipt; {
		case r != nil:
			e.ID, e.Trace = r.Part, t.traces[r.Part]
			e.What = fmt.Sprintf("%s after %d calls", r.Result, r.Attempts)
			if r.ProviderID != "" {
				e.What += ", the platform's " + r.ProviderID
			}
			if r.InDoubt {
				e.What += ", in doubt"
			}
			e.What += because(r.Error)
			t.fates = append(t.fates, outbox.Fate{Part: botmesh.Part{ID: r.Part}, Receipt: r})
			t.receipts = append(t.receipts, len(t.events))
		case !l.NotBefore.IsZero():
			e.What = fmt.Sprintf("put off until %s, %d calls in vain", l.NotBefore.UTC().Format(time.RFC3339), l.Tries)
		default:
			e.What = fmt.Sprintf("all up to letter %d is settled", l.Settled)
		}
		t.add(chat, e, "")
	}
	return next, err
}

// attach says behind each receipt what the platform told later of its part.
func (t *timeline) attach() {
	outbox.Attach(t.fates, t.told)
	for i, f := range t.fates {
		e := &t.events[t.receipts[i]]
		e.State = f.State()
		for _, told := range []struct {
			word string
			when time.Time
		}{{"delivered", f.Delivered}, {"read", f.Read}, {"failed", f.Failed}} {
			if !told.when.IsZero() {
				e.What += fmt.Sprintf("; %s at %s", told.word, told.when.UTC().Format(time.RFC3339))
			}
		}
	}
}

func (t *timeline) dead(ctx context.Context, w jet.Window) (uint64, error) {
	next := w.From
	letters, err := t.rooms.Journal.DeadLetters(ctx, t.filter(w))
	for _, l := range letters {
		next = l.Seq + 1
		t.add(l.Chat, Event{At: l.At, Kind: "dead", Seq: l.Seq, ID: cmp.Or(l.Part, l.Entry.Record.ID), Trace: traceID(l.Trace),
			What: fmt.Sprintf("a %s was set aside after %d tries%s", l.Kind, l.Tries, because(firstLine(l.Error)))},
			cmp.Or(l.Send.Shown(), l.Entry.Record.Message.Text))
	}
	return next, err
}

func (t *timeline) acts(ctx context.Context, w jet.Window) (uint64, error) {
	next := w.From
	of := &t.chat
	if t.all() {
		of = nil
	}
	all, err := t.rooms.Acts.List(ctx, of, w)
	for _, a := range all {
		next = a.Seq + 1
		if a.Chat == nil {
			a.Chat = &botmesh.ChatKey{}
		}
		what := strings.TrimSpace(a.Verb + " " + a.Of)
		if a.Failed != "" {
			what += ", which failed: " + a.Failed
		}
		t.add(*a.Chat, Event{At: a.At, Kind: "act", ID: a.ID, By: a.By, What: what}, "")
	}
	return next, err
}

// commit is the checkpoint of the chat as it is.
func (t *timeline) commit(ctx context.Context, w jet.Window) (uint64, error) {
	if t.all() {
		return w.From, nil
	}
	row, err := t.rooms.Store.Load(ctx, t.chat.Key())
	if err != nil || row.Revision < max(w.From, 1) {
		return w.From, err
	}
	if cp, err := checkpoint.Decode(row.Value); err == nil && row.Written.After(w.Since) {
		what := fmt.Sprintf("the checkpoint as it is: all up to record %d is applied", cp.Cursor)
		if is := cp.Tries; is != nil && !is.Stranded.IsZero() {
			what += fmt.Sprintf("; record %d waits %s for another build: %s", is.Record, since(is.Stranded), is.Error)
		}
		t.add(t.chat, Event{At: row.Written, Kind: "commit", Seq: row.Revision, By: cp.By, Trace: traceID(cp.Trace), What: what}, "")
	}
	return row.Revision + 1, nil
}

// turn is who has the chat's turn, if somebody does. Without the coordinator the rest is
// worth having.
func (t *timeline) turn(ctx context.Context, w jet.Window) (uint64, error) {
	if t.all() || t.rooms.Turns == nil {
		return w.From, nil
	}
	view, err := t.rooms.Turns.Inspect(ctx, coord.KindTurn, t.chat.Key())
	if err != nil || view.Holder == "" || view.Fence < w.From {
		return w.From, nil
	}
	t.add(t.chat, Event{At: view.Since, Kind: "turn", Seq: view.Fence, By: view.Holder,
		What: fmt.Sprintf("has the turn, %d tickets in line", len(view.Waiting))}, "")
	return view.Fence + 1, nil
}

// traceID is the trace of a context as it is journaled, empty if there is none.
func traceID(trace map[string]string) string {
	parts := strings.Split(trace["traceparent"], "-")
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
