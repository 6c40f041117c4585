package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/journal"
)

// Range says which records of a chat are meant. The zero value is all of them.
type Range struct {
	// From and To are the first and the last sequence, To zero for no end.
	From, To uint64
	// Since and Until bound the time of storing, by the server's clock; zero for no bound.
	Since, Until time.Time
}

// Holds reports whether a record is meant.
func (r Range) Holds(of botmesh.Record) bool {
	return of.Seq >= r.From && !of.Stored.Before(r.Since) && !r.behind(of)
}

// behind reports whether a record, and with it all that come after it, is behind the end.
func (r Range) behind(of botmesh.Record) bool {
	return r.To > 0 && of.Seq > r.To || !r.Until.IsZero() && of.Stored.After(r.Until)
}

// Moment is a time that an operator names: as "2030-01-02T15:04:05Z", or as how long ago
// it is, such as "1h30m".
type Moment struct{ time.Time }

// UnmarshalText reads a Moment.
func (m *Moment) UnmarshalText(text []byte) error {
	ago, err := time.ParseDuration(string(text))
	if err == nil && ago >= 0 {
		m.Time = time.Now().Add(-ago)
		return nil
	}
	if m.Time, err = time.Parse(time.RFC3339, string(text)); err != nil {
		return fmt.Errorf("%q is no time: want one such as 2030-01-02T15:04:05Z, or how long ago it is, such as 1h30m", text)
	}
	return nil
}

// Counted says how many records were replayed, and how many of them were meant.
type Counted struct{ Run, Meant int }

// String says it in a line.
func (c Counted) String() string {
	if c.Meant == c.Run {
		return fmt.Sprintf("replayed %d records", c.Run)
	}
	return fmt.Sprintf("replayed %d records, of which %d are shown", c.Run, c.Meant)
}

// Dry runs the records of a chat from the first that the journal keeps to the last of a
// range, and calls each for those in the range. What operators who resumed the chat wanted
// to have no effect has none. Nothing is sent or written.
//
// Errors: [ErrNoRecords] if there is none in the range; each's, and those of
// [journal.Journal.List].
func Dry(ctx context.Context, cfg Config, j *journal.Journal, key botmesh.ChatKey, in Range, each func(Step) error) (Counted, error) {
	var n Counted
	var err error
	if cfg.PassesOver, err = passedOver(ctx, j, key); err != nil {
		return n, err
	}
	chat := New(cfg)
	err = Each(ctx, j, key, func(e journal.Entry, ahead ...journal.Entry) error {
		if in.behind(e.Record) {
			return errEnough
		}
		step, err := chat.Next(ctx, e, ahead...)
		if err != nil {
			return err
		}
		n.Run++
		if !in.Holds(e.Record) {
			return nil
		}
		n.Meant++
		return each(step)
	})
	switch {
	case err != nil:
		return n, err
	case n.Run == 0 && in == Range{}:
		return n, fmt.Errorf("%w %s", ErrNoRecords, key)
	case n.Meant == 0:
		return n, fmt.Errorf("%w %s in that range", ErrNoRecords, key)
	}
	return n, nil
}

// errEnough ends an [Each].
var errEnough = errors.New("replay: enough")

// Each calls do for every record of a chat, from the first that the journal keeps, with
// some of those that are ahead of it: botmesh.MaxAlso, or all there are. Errors are do's,
// or as of [journal.Journal.List].
func Each(ctx context.Context, j *journal.Journal, chat botmesh.ChatKey, do func(e journal.Entry, ahead ...journal.Entry) error) error {
	var read []journal.Entry
	for from, end := uint64(0), false; ; {
		if !end && len(read) <= botmesh.MaxAlso {
			more, err := j.List(ctx, journal.Filter{Chat: chat, From: from, Limit: page})
			if err != nil {
				return fmt.Errorf("replay: %w", err)
			}
			if read, end = append(read, more...), len(more) < page; len(more) > 0 {
				from = more[len(more)-1].Record.Seq + 1
			}
		}
		if len(read) == 0 {
			return nil
		}
		switch err := do(read[0], read[1:min(len(read), 1+botmesh.MaxAlso)]...); {
		case err == errEnough:
			return nil
		case err != nil:
			return err
		}
		read = read[1:]
	}
}
