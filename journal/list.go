package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// Bounds of a listing.
const (
	DefaultList = 100
	MaxList     = 10_000
	listPage    = 256
)

// Filter says what to list. The zero value is the first [DefaultList] of all chats.
type Filter struct {
	// Chat lists one chat's alone.
	Chat botmesh.ChatKey
	// From lists from a sequence on. To go on with a listing, give the sequence
	// after the last one's.
	From uint64
	// Since and Until bound the time of storing, by the server's clock.
	Since, Until time.Time
	// Limit defaults to DefaultList and is at most [MaxList].
	Limit int
	// Newest lists the last of what there is, not the first.
	Newest bool
}

// List returns records in the journal's order. It is complete: where a replica's
// answer ends, the stream's leader is asked whether there is more.
//
// Errors: botmesh.ErrRefused if nobody could answer, or the context's.
func (j *Journal) List(ctx context.Context, f Filter) ([]Entry, error) {
	subject := allOf(familyIn, j.bot)
	if f.Chat != (botmesh.ChatKey{}) {
		subject = subjectOf(familyIn, j.bot, f.Chat)
	}
	stored, err := scan(ctx, j.inbox, subject, f)
	if err != nil {
		return nil, fmt.Errorf("journal: list: %w", err)
	}
	entries := make([]Entry, len(stored))
	for i, m := range stored {
		entries[i] = decode(familyIn, j.bot, j.epoch, m)
	}
	return entries, nil
}

// scan reads the messages of a subject that a filter lets through.
func scan(ctx context.Context, stream jet.Stream, subject string, f Filter) ([]jet.Stored, error) {
	limit := f.Limit
	if limit <= 0 {
		limit = DefaultList
	}
	limit = min(limit, MaxList)
	from := max(f.From, 1)
	if !f.Since.IsZero() {
		first, err := firstSince(ctx, stream, f.Since)
		if err != nil {
			return nil, err
		}
		from = max(from, first)
	}
	if f.Newest {
		return newest(ctx, stream, subject, from, limit, f)
	}
	return collect(ctx, stream, subject, from, limit, f)
}

// newest looks further and further back until there are enough.
func newest(ctx context.Context, stream jet.Stream, subject string, from uint64, limit int, f Filter) ([]jet.Stored, error) {
	info, err := stream.Info(ctx)
	if err != nil {
		return nil, err
	}
	from = max(from, info.FirstSeq)
	for width := uint64(limit); ; width *= 8 {
		start := from
		if info.LastSeq >= from+width {
			start = info.LastSeq + 1 - width
		}
		of, err := collect(ctx, stream, subject, start, limit, f)
		if err != nil || len(of) == limit || start == from {
			return of, err
		}
	}
}

// collect reads from a sequence on until there are enough, or to the end if the
// newest are wanted.
func collect(ctx context.Context, stream jet.Stream, subject string, from uint64, limit int, f Filter) ([]jet.Stored, error) {
	var of []jet.Stored
	for f.Newest || len(of) < limit {
		room := listPage
		if !f.Newest {
			room = min(limit-len(of), listPage)
		}
		page, err := stream.Range(ctx, subject, from, room)
		if err == nil && len(page) == 0 {
			page, err = askLeader(ctx, stream, subject, from)
		}
		if err != nil {
			return nil, err
		}
		late := slices.IndexFunc(page, func(m jet.Stored) bool { return !f.Until.IsZero() && m.Time.After(f.Until) })
		end := late >= 0 || len(page) == 0
		if late >= 0 {
			page = page[:late]
		}
		of = append(of, page...)
		of = of[max(0, len(of)-limit):] // none goes but where the newest are wanted
		if end {
			break
		}
		from = page[len(page)-1].Seq + 1
	}
	return of, nil
}

// askLeader returns the one message that comes next, or none.
func askLeader(ctx context.Context, stream jet.Stream, subject string, from uint64) ([]jet.Stored, error) {
	m, err := stream.Next(ctx, subject, from)
	if errors.Is(err, botmesh.ErrNotFound) {
		return nil, nil
	}
	return []jet.Stored{m}, err
}

// firstSince finds the first sequence stored at or after a time by bisection: the
// server's times grow with the sequences, but for a jump of its clock.
func firstSince(ctx context.Context, stream jet.Stream, since time.Time) (uint64, error) {
	info, err := stream.Info(ctx)
	if err != nil {
		return 0, err
	}
	first := info.FirstSeq
	n := sort.Search(int(info.LastSeq+1-first), func(i int) bool {
		if err != nil {
			return true
		}
		var m jet.Stored
		m, err = stream.Next(ctx, ">", first+uint64(i))
		if errors.Is(err, botmesh.ErrNotFound) {
			err = nil
			return true
		}
		return err != nil || !m.Time.Before(since)
	})
	return first + uint64(n), err
}

// Holds reports whether a chat's journal holds a record of an id, stored at or after a
// time. It reads all that the chat has since then, so it is for the rare case.
//
// Errors: botmesh.ErrRefused if nobody could answer, or the context's.
func (j *Journal) Holds(ctx context.Context, chat botmesh.ChatKey, id string, since time.Time) (bool, error) {
	f := Filter{Chat: chat, Since: since, Limit: listPage}
	for {
		entries, err := j.List(ctx, f)
		if err != nil || len(entries) == 0 {
			return false, err
		}
		for _, e := range entries {
			if e.Record.ID == id {
				return true, nil
			}
		}
		f.From = entries[len(entries)-1].Record.Seq + 1
	}
}
