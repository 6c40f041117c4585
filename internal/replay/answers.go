package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
)

// place is which of a record's letters one is: the n-th that was sent before the end of
// its run, or the commit's.
type place struct {
	seq   uint64
	early bool
	n     int
}

// placeOf reads the id of a letter, which says of which record of an epoch it is.
func placeOf(id string, chat botmesh.ChatKey, epoch string) (p place, ok bool) {
	rest, ok := strings.CutPrefix(id, chat.Key()+"/"+epoch+".")
	if !ok {
		return p, false // of an older journal
	}
	number, n, early := strings.Cut(rest, "/e")
	var err error
	if p.seq, err = strconv.ParseUint(number, 10, 64); err == nil && early {
		p.early = true
		p.n, err = strconv.Atoi(n)
	}
	return p, err == nil
}

// letters calls each for the letters of a chat, in order. It reads all of them: were it a
// replica's word, one that lags would have some sent again.
func letters(ctx context.Context, o *outbox.Outbox, chat botmesh.ChatKey, each func(outbox.Posted)) error {
	for from := uint64(0); ; {
		of, err := o.History(ctx, chat, jet.Window{From: from, Limit: page})
		if err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		for _, l := range of {
			each(l)
			from = l.Seq + 1
		}
		if len(of) < page {
			return nil
		}
	}
}

// answers are what the outbox has of a chat, by record.
type answers struct {
	upTo  uint64 // the records up to here were run
	of    map[uint64]map[place]botmesh.Letter
	since time.Time       // who was answered before that, of that the outbox may keep nothing
	aside map[uint64]bool // the records that were set aside
	whole bool            // the journal has its first record
}

// read looks what a chat was answered. why says why nothing can be told of it.
func (in Rooms) read(ctx context.Context, chat botmesh.ChatKey) (a answers, why string, err error) {
	a.of = map[uint64]map[place]botmesh.Letter{}
	row, err := in.Store.Load(ctx, chat.Key())
	if err != nil {
		return a, "", fmt.Errorf("replay: %w", err)
	}
	var cp checkpoint.Checkpoint
	if row.Revision > 0 {
		if cp, err = checkpoint.Decode(row.Value); err != nil {
			return a, "its checkpoint can not be read: " + err.Error(), nil
		}
	}
	if cp.Epoch != in.Journal.Epoch() {
		return a, "no worker has run its records, or its checkpoint is lost", nil
	}
	a.upTo = cp.Cursor
	add := func(l botmesh.Letter) {
		p, ok := placeOf(l.ID, chat, in.Journal.Epoch())
		if ok && a.of[p.seq] == nil {
			a.of[p.seq] = map[place]botmesh.Letter{}
		}
		if ok {
			a.of[p.seq][p] = l
		}
	}
	if err := letters(ctx, in.Outbox, chat, func(l outbox.Posted) { add(l.Letter) }); err != nil {
		return a, "", err
	}
	if e := cp.Effects; e != nil && e.Letter != nil {
		add(*e.Letter) // it may not be there yet
	}
	first, err := in.Outbox.History(ctx, botmesh.ChatKey{}, jet.Window{Limit: 1})
	if err != nil {
		return a, "", fmt.Errorf("replay: %w", err)
	}
	if len(first) > 0 && first[0].Seq > 1 {
		a.since = first[0].At
	}
	if a.aside, err = in.Journal.SetAsideOf(ctx, chat); err != nil {
		return a, "", fmt.Errorf("replay: %w", err)
	}
	begin, err := in.Journal.List(ctx, journal.Filter{Limit: 1})
	if err != nil {
		return a, "", fmt.Errorf("replay: %w", err)
	}
	a.whole = len(begin) == 0 || begin[0].Record.Seq == 1
	return a, "", nil
}

// then is what was said to a record, part by part.
func (a answers) then(seq uint64) (said []botmesh.Send) {
	of := a.of[seq]
	for _, p := range slices.SortedFunc(maps.Keys(of), func(p, q place) int {
		if p.early != q.early {
			return map[bool]int{true: -1, false: 1}[p.early]
		}
		return p.n - q.n
	}) {
		for _, part := range of[p].Parts {
			said = append(said, part.Send)
		}
	}
	return said
}

// at is when a record was run, as far as is known.
func (a answers) at(r botmesh.Record) time.Time {
	at := r.Stored
	for _, l := range a.of[r.Seq] {
		if at.Equal(r.Stored) || l.At.Before(at) {
			at = l.At
		}
	}
	return at
}

// now is what the bot says to a record in a step, as its platform's parts.
func (in Rooms) now(chat botmesh.ChatKey, s Step) (said []botmesh.Send, err error) {
	add := func(id string, sends []botmesh.Send) {
		if len(sends) == 0 || err != nil {
			return
		}
		var l botmesh.Letter
		l, err = in.Outbox.Letter(id, chat, sends, s.Stored, nil)
		for _, p := range l.Parts {
			said = append(said, p.Send)
		}
	}
	epoch := in.Journal.Epoch()
	for n := range s.early {
		add(botmesh.EagerLetterID(chat, epoch, s.Seq, n), s.Sends[n:n+1])
	}
	add(botmesh.LetterID(chat, epoch, s.Seq), s.Sends[s.early:])
	return said, err
}

// same reports whether two answers would be sent alike.
func same(a, b []botmesh.Send) bool {
	x, err := json.Marshal(a)
	y, erry := json.Marshal(b)
	return err == nil && erry == nil && len(a) == len(b) && (len(a) == 0 || string(x) == string(y))
}
