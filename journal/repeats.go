package journal

import (
	"context"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/botmesh-go/botmesh"
)

// Bounds of the ids that are kept to tell repetitions.
const (
	maxEarlier    = 8192    // of one chat, in an [Earlier]
	maxAllEarlier = 1 << 20 // of all chats of a process, in those of one [Journal]
)

var seed = maphash.MakeSeed()

// Earlier is what [Journal.Repeats] has read of one chat's records. With it the next
// record of the chat costs a read for every 256 records that come after those, not for
// all that there are. The zero value has read nothing. Not safe for concurrent use.
//
// It keeps a hash of each id and where it was first: at most 8192, for which 590 kB were
// measured, 72 bytes an id, and with all others of the journal at most 1 048 576, 75 MB. A
// chat that has no room is read anew for each record. In a
// chat of 5000 records 1000 that come late cost 22 reads of the stream and 0.1 s, where
// each read anew makes them 19 000 and 83 s (BenchmarkRepeats).
type Earlier struct {
	epoch string
	// All of the chat's records that were stored at or after since, up to the sequence
	// through, are known. Those below from are not.
	since         time.Time
	from, through uint64
	first         map[uint64]uint64 // by the hash of an id, the first sequence with it
	full          bool
	room          *atomic.Int64 // of all chats, in ids
	took          int64
}

// Forget gives back the room that was taken. What follows is read anew.
func (e *Earlier) Forget() {
	if e.took > 0 {
		e.room.Add(e.took)
	}
	*e = Earlier{}
}

func (e *Earlier) add(entries []Entry) {
	for _, entry := range entries {
		id := maphash.String(seed, entry.Record.ID)
		if seq, ok := e.first[id]; !ok || entry.Record.Seq < seq {
			e.first[id] = entry.Record.Seq
		}
	}
	more := int64(len(e.first)) - e.took
	left := e.room.Add(-more)
	e.took += more
	if e.full = left < 0 || e.took > maxEarlier; e.full {
		e.room.Add(e.took)
		e.first, e.took = nil, 0
	}
}

// Repeats reports whether a record that was read is a repetition: its chat's journal
// holds one of the same id before it. One that was stored before since may be missed.
//
// It costs a read for every 256 records of the chat since then that known, which may be
// nil, has not read, and one more if it is a repetition. So it is for the rare case.
//
// Errors: botmesh.ErrRefused if nobody could answer, or the context's.
func (j *Journal) Repeats(ctx context.Context, r botmesh.Record, since time.Time, known *Earlier) (bool, error) {
	if known == nil {
		known = new(Earlier)
		defer known.Forget()
	}
	if known.first == nil && !known.full || known.epoch != r.Epoch {
		known.Forget()
		*known = Earlier{room: &j.room, epoch: r.Epoch, since: r.Stored, from: r.Seq, through: r.Seq - 1, first: map[uint64]uint64{}}
	}
	if err := j.learn(ctx, r, since, known); err != nil {
		return false, err
	}
	seq, ok := known.first[maphash.String(seed, r.ID)]
	switch {
	case known.full:
		return j.holds(ctx, Filter{Chat: r.Chat, Since: since, To: r.Seq - 1}, r.ID)
	case !ok || seq >= r.Seq:
		return false, nil
	}
	// Two ids may have one hash, and a record that was never run must not be taken for
	// a repetition: the journal has the word.
	there, err := j.holds(ctx, Filter{Chat: r.Chat, From: seq, To: seq}, r.ID)
	if err != nil || there {
		return there, err
	}
	return j.holds(ctx, Filter{Chat: r.Chat, Since: since, To: r.Seq - 1}, r.ID)
}

// learn reads what is not known of the records before r that were stored since a time,
// and some behind it: they are asked for next.
func (j *Journal) learn(ctx context.Context, r botmesh.Record, since time.Time, known *Earlier) error {
	if lowest := known.from; since.Before(known.since) && lowest > 1 {
		err := j.pages(ctx, Filter{Chat: r.Chat, Since: since, To: known.from - 1}, func(entries []Entry) bool {
			lowest = min(lowest, entries[0].Record.Seq)
			known.add(entries)
			return !known.full
		})
		if err != nil {
			return err
		}
		known.since, known.from = since, lowest
	}
	if known.full || known.through+1 >= r.Seq {
		return nil
	}
	return j.pages(ctx, Filter{Chat: r.Chat, From: known.through + 1}, func(entries []Entry) bool {
		known.add(entries)
		known.through = entries[len(entries)-1].Record.Seq
		return known.through+1 < r.Seq && !known.full
	})
}

// pages lists what a filter lets through, page by page, until more is false or there is
// no more.
func (j *Journal) pages(ctx context.Context, f Filter, more func([]Entry) bool) error {
	for f.Limit = holdsPage; ; {
		entries, err := j.List(ctx, f)
		if err != nil || len(entries) == 0 || !more(entries) {
			return err
		}
		f.From = entries[len(entries)-1].Record.Seq + 1
	}
}

// holds reports whether a record of an id is among those that a filter lets through.
func (j *Journal) holds(ctx context.Context, f Filter, id string) (there bool, err error) {
	err = j.pages(ctx, f, func(entries []Entry) bool {
		for _, e := range entries {
			there = there || e.Record.ID == id
		}
		return !there
	})
	return there, err
}
