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
)

const (
	defaultTimeline = 100
	maxTimeline     = 2000
)

// Event is one thing that happened to a chat.
type Event struct {
	At time.Time `json:"at"`
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
	// Text is what was written, if that was asked for.
	Text string `json:"text,omitempty"`
}

// timeline shows what happened to a chat, in the order of time: the newest of it.
// Nothing of what anybody wrote is in it unless text=1 asks for that.
//
// A checkpoint keeps no history: the revision that is there now is shown, and of the
// ones before it what they left: letters and dead letters.
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
	t := &timeline{rooms: rooms, chat: chat, window: w, text: r.FormValue("text") != "", traces: map[string]string{}, events: []Event{}}
	for _, read := range []func(context.Context) error{t.records, t.statuses, t.letters, t.chain, t.dead, t.acts, t.now} {
		if err := read(ctx); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(t.events, func(a, b Event) int { return a.At.Compare(b.At) })
	return t.events[max(0, len(t.events)-limit):], nil
}

type timeline struct {
	rooms  *Rooms
	chat   botmesh.ChatKey
	window jet.Window
	text   bool
	traces map[string]string // by part
	events []Event
}

func (t *timeline) add(e Event, text string) {
	e.At = e.At.UTC()
	if t.text {
		e.Text = text
	}
	t.events = append(t.events, e)
}

func (t *timeline) filter() journal.Filter {
	return journal.Filter{Chat: t.chat, Since: t.window.Since, Limit: t.window.Limit, Newest: true}
}

func (t *timeline) records(ctx context.Context) error {
	entries, err := t.rooms.Journal.List(ctx, t.filter())
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
		t.add(Event{At: r.Stored, Kind: "record", Seq: r.Seq, ID: r.ID, By: r.User, Trace: traceID(r.Trace), What: what},
			cmp.Or(r.Message.Text, r.Message.Payload))
	}
	return err
}

func (t *timeline) statuses(ctx context.Context) error {
	f := t.filter()
	f.Statuses = true
	entries, err := t.rooms.Journal.List(ctx, f)
	for _, e := range entries {
		r := e.Record
		t.add(Event{At: r.Stored, Kind: "status", Seq: r.Seq, ID: r.ID, Trace: traceID(r.Trace),
			What: strings.TrimSpace(r.Message.Status + " " + cmp.Or(r.Message.Of, r.Message.MessageID))}, "")
	}
	return err
}

func (t *timeline) letters(ctx context.Context) error {
	letters, err := t.rooms.Outbox.History(ctx, t.chat, t.window)
	for _, l := range letters {
		var said []string
		for _, p := range l.Letter.Parts {
			t.traces[p.ID] = traceID(l.Letter.Trace)
			said = append(said, p.Send.Text)
		}
		t.add(Event{At: l.At, Kind: "letter", Seq: l.Seq, ID: l.Letter.ID, Trace: traceID(l.Letter.Trace),
			What: fmt.Sprintf("%d parts, committed %s", len(l.Letter.Parts), l.Letter.At.UTC().Format(time.RFC3339Nano))}, strings.Join(said, "\n"))
	}
	return err
}

func (t *timeline) chain(ctx context.Context) error {
	links, err := t.rooms.Outbox.Chain(ctx, t.chat, t.window)
	for _, l := range links {
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
		case !l.NotBefore.IsZero():
			e.What = fmt.Sprintf("put off until %s, %d calls in vain", l.NotBefore.UTC().Format(time.RFC3339), l.Tries)
		default:
			e.What = fmt.Sprintf("all up to letter %d is settled", l.Settled)
		}
		t.add(e, "")
	}
	return err
}

func (t *timeline) dead(ctx context.Context) error {
	letters, err := t.rooms.Journal.DeadLetters(ctx, t.filter())
	for _, l := range letters {
		t.add(Event{At: l.At, Kind: "dead", Seq: l.Seq, ID: cmp.Or(l.Part, l.Entry.Record.ID), Trace: traceID(l.Trace),
			What: fmt.Sprintf("a %s was set aside after %d tries%s", l.Kind, l.Tries, because(firstLine(l.Error)))},
			cmp.Or(l.Send.Text, l.Entry.Record.Message.Text))
	}
	return err
}

func (t *timeline) acts(ctx context.Context) error {
	all, err := t.rooms.Acts.List(ctx, &t.chat, t.window)
	for _, a := range all {
		what := strings.TrimSpace(a.Verb + " " + a.Of)
		if a.Failed != "" {
			what += ", which failed: " + a.Failed
		}
		t.add(Event{At: a.At, Kind: "act", ID: a.ID, By: a.By, What: what}, "")
	}
	return err
}

// now is the checkpoint and the turn as they are.
func (t *timeline) now(ctx context.Context) error {
	row, err := t.rooms.Store.Load(ctx, t.chat.Key())
	if err != nil {
		return err
	}
	if cp, err := checkpoint.Decode(row.Value); err == nil && row.Revision > 0 && row.Written.After(t.window.Since) {
		t.add(Event{At: row.Written, Kind: "commit", Seq: row.Revision, By: cp.By,
			What: fmt.Sprintf("the checkpoint as it is: all up to record %d is applied", cp.Cursor)}, "")
	}
	if t.rooms.Turns == nil {
		return nil
	}
	view, err := t.rooms.Turns.Inspect(ctx, coord.KindTurn, t.chat.Key())
	if err == nil && view.Holder != "" {
		t.add(Event{At: view.Since, Kind: "turn", Seq: view.Fence, By: view.Holder,
			What: fmt.Sprintf("has the turn, %d tickets in line", len(view.Waiting))}, "")
	}
	return nil // without the coordinator the rest is worth having
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
