package journal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// Bounds of a listing.
const (
	DefaultList = 100
	MaxList     = 10_000
	holdsPage   = 256
)

// Filter says what to list. The zero value is the first [DefaultList] of all chats.
type Filter struct {
	// Chat lists one chat's alone.
	Chat botmesh.ChatKey
	// From lists from a sequence on. To go on with a listing, give the sequence
	// after the last one's. To ends with a sequence, zero for no end.
	From, To uint64
	// Since and Until bound the time of storing, by the server's clock.
	Since, Until time.Time
	// Limit defaults to DefaultList and is at most [MaxList].
	Limit int
	// Newest lists the last of what there is, not the first.
	Newest bool
	// Statuses lists what platforms told of sends, in place of the chats' records.
	Statuses bool
	// Kind lists dead letters of one kind alone; records have none.
	Kind DeadKind
}

// List returns records in the journal's order. It is complete: where a replica's
// answer ends, the stream's leader is asked whether there is more.
//
// Errors: botmesh.ErrRefused if nobody could answer, or the context's.
func (j *Journal) List(ctx context.Context, f Filter) ([]Entry, error) {
	family := familyIn
	if f.Statuses {
		family = familyStatus
	}
	subject := allOf(family, j.bot)
	if f.Chat != (botmesh.ChatKey{}) {
		subject = subjectOf(family, j.bot, f.Chat)
	}
	stored, err := scan(ctx, j.inbox, subject, f, nil)
	if err != nil {
		return nil, fmt.Errorf("journal: list: %w", err)
	}
	entries := make([]Entry, len(stored))
	for i, m := range stored {
		entries[i] = decode(family, j.bot, j.epoch, m)
	}
	return entries, nil
}

// Statuses returns what the platform told of the bot's messages in a chat, as [Journal.List]
// returns records: deliveries, reads, failures. It tells them of the chat, whoever of it
// was answered, so those without a participant are returned too. Filter.Chat is required.
//
// Errors are as of [Journal.List].
func (j *Journal) Statuses(ctx context.Context, f Filter) ([]Entry, error) {
	chats := []botmesh.ChatKey{f.Chat}
	if f.Chat.Participant != "" {
		chats = append(chats, botmesh.ChatKey{Provider: f.Chat.Provider, Chat: f.Chat.Chat})
	}
	var entries []Entry
	for _, chat := range chats {
		f.Chat, f.Statuses = chat, true
		of, err := j.List(ctx, f)
		if err != nil {
			return nil, err
		}
		entries = append(entries, of...)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Record.Seq, b.Record.Seq) })
	return entries, nil
}

// scan reads the messages of a subject that a filter and keep, if there is one, let through.
func scan(ctx context.Context, stream jet.Stream, subject string, f Filter, keep func(jet.Stored) bool) ([]jet.Stored, error) {
	limit := f.Limit
	if limit <= 0 {
		limit = DefaultList
	}
	return jet.Scan(ctx, stream, subject, jet.Window{
		From: f.From, To: f.To, Since: f.Since, Until: f.Until, Limit: min(limit, MaxList), Newest: f.Newest, Keep: keep,
	})
}

// Holds reports whether a chat's journal holds a record of an id, stored at or after a
// time. It reads all that the chat has since then, so it is for the rare case.
//
// Errors: botmesh.ErrRefused if nobody could answer, or the context's.
func (j *Journal) Holds(ctx context.Context, chat botmesh.ChatKey, id string, since time.Time) (bool, error) {
	return j.holds(ctx, Filter{Chat: chat, Since: since}, id)
}

// HoldsBehind reports whether a chat's journal holds a record of an id behind a sequence,
// as [Journal.Holds] does of a time. It fails with botmesh.ErrNotFound if it holds none and
// may have held it: what was journaled just behind that sequence is gone.
func (j *Journal) HoldsBehind(ctx context.Context, chat botmesh.ChatKey, id string, seq uint64) (bool, error) {
	there, err := j.holds(ctx, Filter{Chat: chat, From: seq + 1}, id)
	if err != nil || there {
		return there, err
	}
	first, err := j.inbox.Next(ctx, allOf(familyIn, j.bot), 1) // after that: records go in their order
	if err == nil && first.Seq > seq {
		err = botmesh.ErrNotFound
	}
	if err != nil {
		return false, fmt.Errorf("journal: what is behind %d: %w", seq, err)
	}
	return false, nil
}
