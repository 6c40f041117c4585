package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
)

// page is how many records are read at once.
const page = 256

var (
	// ErrExists says that a chat has a checkpoint, which nothing is lost of.
	ErrExists = errors.New("replay: the chat has a checkpoint")
	// ErrNoRecords says that the journal has no record of a chat.
	ErrNoRecords = errors.New("replay: the journal has no record of the chat")
	// ErrNewer says that a record of a chat can be read by a newer build alone.
	ErrNewer = errors.New("replay: a record is of a newer build, which alone can rebuild the chat")
	// ErrPartial says that records from the journal's beginning are gone, so that what a
	// chat remembered of them is lost.
	ErrPartial = errors.New("replay: the journal's first records are older than it keeps")
)

// Rooms are where a chat is kept. All are required.
type Rooms struct {
	Journal     *journal.Journal
	Outbox      *outbox.Outbox
	Store       checkpoint.Store
	Coordinator coord.Coordinator
}

// Order is what [Rebuild] is to do.
type Order struct {
	Chat botmesh.ChatKey
	// Partial says that the chat is to go on from what the journal still keeps, though it
	// may have remembered more.
	Partial bool
	// Dry runs everything and writes nothing.
	Dry bool
	// Deploy is the number of the deploy, zero if they are not numbered.
	Deploy int
	// Before, if set, is called before the checkpoint is written, and can refuse.
	Before func(Rebuilt) error
	// Each, if set, is told each step.
	Each func(Step) error
}

// Rebuilt is what came of a [Rebuild].
type Rebuilt struct {
	// Records were run, the last of them at Cursor. Left are behind it: a worker runs
	// them, and sends what they say.
	Records int    `json:"records"`
	Cursor  uint64 `json:"cursor"`
	Left    int    `json:"left"`
	// Since is when the first of them came: of what was before the chat knows nothing.
	Since time.Time `json:"since,omitzero"`
	// Timers are armed.
	Timers int `json:"timers"`
	// Waits says that the chat is in the middle of a conversation.
	Waits bool `json:"waits"`
	// Revision is the checkpoint's, zero if it was not written.
	Revision uint64 `json:"revision,omitempty"`
}

// Rebuild writes the lost checkpoint of a chat anew from its records, and sends nothing.
// Those records are run that took effect, as far as is known: up to the last one whose
// letter is in the outbox, or up to which all records are settled. What the bot says of
// them now is thrown away, whether or not it is what it said then; what it remembers now
// is what the chat goes on with. What came while it was paused counts as far as who
// resumed it wanted. Of what is kept of users, and of other chats, nothing is changed.
//
// It holds the chat's turn meanwhile, so that no worker runs it; should one all the
// same, one of the two compare-and-sets against the absent checkpoint wins. A crash
// before it leaves nothing.
//
// Errors: [ErrExists], [ErrNoRecords], [ErrPartial], [ErrNewer]; botmesh.ErrConflict if somebody
// wrote the checkpoint meanwhile; botmesh.ErrUnknown if it may be written: the same call
// again tells; what Order's functions return, and those of the rooms.
func Rebuild(ctx context.Context, cfg Config, in Rooms, o Order) (_ Rebuilt, err error) {
	turn, err := in.Coordinator.Take(ctx, coord.Request{Key: o.Chat.Key()})
	if err != nil {
		return Rebuilt{}, fmt.Errorf("replay: taking the turn of %s, which may be served now: %w", o.Chat.Key(), err)
	}
	defer func() {
		if lost := turn.Release(context.WithoutCancel(ctx), 0); lost != nil && err == nil && !o.Dry {
			err = fmt.Errorf("replay: %s: %w", o.Chat.Key(), lost)
		}
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(turn.Context(), func() { cancel(context.Cause(turn.Context())) })()
	row, err := in.Store.Load(ctx, o.Chat.Key())
	switch {
	case err != nil:
		return Rebuilt{}, fmt.Errorf("replay: %w", err)
	case row.Revision != 0:
		return Rebuilt{}, fmt.Errorf("%w: revision %d of %s", ErrExists, row.Revision, row.Written.UTC().Format(time.RFC3339))
	}
	cp, out, err := in.run(ctx, cfg, o)
	if err != nil || o.Dry {
		return out, err
	}
	if o.Before != nil {
		if err := o.Before(out); err != nil {
			return out, err
		}
	}
	cp.Chat, cp.Fence, cp.Deploy = o.Chat, turn.Fence(), o.Deploy
	if cp.State != nil {
		cp.By = in.Coordinator.Incarnation()
	}
	value, err := cp.Encode()
	if err != nil {
		return out, err
	}
	if row, err = in.Store.Swap(ctx, o.Chat.Key(), checkpoint.Row{}, value, uuid.NewString(), 0); err != nil {
		return out, fmt.Errorf("replay: writing the checkpoint of %s: %w", o.Chat.Key(), err)
	}
	out.Revision = row.Revision
	return out, nil
}

// run runs the records that took effect, and returns the checkpoint after them.
func (in Rooms) run(ctx context.Context, cfg Config, o Order) (checkpoint.Checkpoint, Rebuilt, error) {
	said, err := in.said(ctx, o.Chat)
	if err != nil {
		return checkpoint.Checkpoint{}, Rebuilt{}, err
	}
	if err := in.whole(ctx, o); err != nil {
		return checkpoint.Checkpoint{}, Rebuilt{}, err
	}
	if cfg.PassesOver, err = passedOver(ctx, in.Journal, o.Chat); err != nil {
		return checkpoint.Checkpoint{}, Rebuilt{}, err
	}
	chat, out := New(cfg), Rebuilt{}
	var next botmesh.Record // the first that is left
	err = Each(ctx, in.Journal, o.Chat, func(e journal.Entry, ahead ...journal.Entry) error {
		if e.Record.Seq > said.cursor && !chat.joins(e.Record) {
			if out.Left++; out.Left == 1 {
				next = e.Record
			}
			return nil
		}
		if errors.Is(e.Err, journal.ErrNewer) {
			return fmt.Errorf("%w: #%d: %w", ErrNewer, e.Record.Seq, e.Err)
		}
		if out.Records == 0 {
			out.Since = e.Record.Stored
		}
		step, err := chat.Next(ctx, e, ahead...)
		if err == nil && o.Each != nil {
			err = o.Each(step)
		}
		out.Records, out.Cursor = out.Records+1, e.Record.Seq
		return err
	})
	switch {
	case err != nil:
		return checkpoint.Checkpoint{}, out, err
	case out.Records+out.Left == 0:
		return checkpoint.Checkpoint{}, out, fmt.Errorf("%w %s", ErrNoRecords, o.Chat.Key())
	}
	cp := chat.Checkpoint()
	cp.Epoch, cp.Out, cp.OutEpoch = in.Journal.Epoch(), said.last, in.Outbox.Epoch()
	if n := said.eager[next.Seq]; n > 0 { // what it said before it was cut off is said
		cp.During = &checkpoint.During{Record: next.Seq, Epoch: cp.Epoch, Eager: n}
	}
	if len(cp.Timers) > 0 {
		cp.Effects = &checkpoint.Effects{At: time.Now()}
		for _, t := range cp.Timers {
			cp.Effects.Arm = append(cp.Effects.Arm, t.ID)
		}
	}
	out.Timers, out.Waits = len(cp.Timers), len(cp.State) > 0
	return cp, out, nil
}

// passedOver tells what operators who resumed the chat wanted to have no effect.
func passedOver(ctx context.Context, j *journal.Journal, chat botmesh.ChatKey) (func(botmesh.Record) bool, error) {
	var pauses []botmesh.Resume
	err := Each(ctx, j, chat, func(e journal.Entry, _ ...journal.Entry) error {
		if p := e.Record.Resume; p != nil {
			pauses = append(pauses, *p)
		}
		return nil
	})
	return func(r botmesh.Record) bool {
		return !r.PutBack() && slices.ContainsFunc(pauses, func(p botmesh.Resume) bool {
			return r.Seq <= p.Through && r.Seq != p.Keep && !r.Stored.Before(p.Paused)
		})
	}, err
}

// whole fails if records from the journal's beginning are gone, unless that is all right.
func (in Rooms) whole(ctx context.Context, o Order) error {
	if o.Partial {
		return nil
	}
	first, err := in.Journal.List(ctx, journal.Filter{Limit: 1})
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if len(first) > 0 && first[0].Record.Seq > 1 {
		return fmt.Errorf("%w: it begins at #%d of %s, and the chat may have remembered what was before", ErrPartial,
			first[0].Record.Seq, first[0].Record.Stored.UTC().Format(time.RFC3339))
	}
	return nil
}

// said is what the outbox has of a chat.
type said struct {
	last   uint64         // the sequence of the last letter
	cursor uint64         // the record up to which all took effect
	eager  map[uint64]int // how many letters a record's runs sent before their end
}

func (in Rooms) said(ctx context.Context, chat botmesh.ChatKey) (said, error) {
	s := said{eager: map[uint64]int{}}
	switch b, err := in.Journal.Backlog(ctx); {
	case err == nil:
		s.cursor = b.Floor
	case !errors.Is(err, botmesh.ErrNotFound): // no worker ever ran
		return s, fmt.Errorf("replay: %w", err)
	}
	err := letters(ctx, in.Outbox, chat, func(l outbox.Posted) {
		s.last = l.Seq
		switch p, ok := placeOf(l.Letter.ID, chat, in.Journal.Epoch()); {
		case !ok:
		case p.early:
			s.eager[p.seq]++
		default:
			s.cursor = max(s.cursor, p.seq)
		}
	})
	return s, err
}
