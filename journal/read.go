package journal

import (
	"context"
	"errors"
	"fmt"

	"github.com/botmesh-go/botmesh"
)

// Read returns up to limit records of a chat after a sequence, in order. It is a
// true prefix of what there is: a replica that lags may answer, so the end may be
// missing, but never a record between two that were returned. An empty answer
// proves nothing, see [Journal.Prove].
//
// A record that can not be read is an Entry with an error in its place. Errors:
// botmesh.ErrRefused if nobody could answer, or the context's.
func (j *Journal) Read(ctx context.Context, chat botmesh.ChatKey, after uint64, limit int) ([]Entry, error) {
	stored, err := j.inbox.Range(ctx, subjectOf(familyIn, j.bot, chat), after+1, limit)
	if err != nil {
		return nil, fmt.Errorf("journal: read %s: %w", chat.Key(), err)
	}
	entries := make([]Entry, len(stored))
	for i, m := range stored {
		entries[i] = decode(familyIn, j.bot, j.epoch, m)
	}
	return entries, nil
}

// Prove reports whether a chat's record is at a sequence, for a record that a
// nudge told of and [Journal.Read] did not find. False is proof: it was there and
// was deleted, or expired.
//
// The proof is an answer of one server that is past the sequence: it showed a
// later message in the same answer, or it was asked after it had said that its
// stream reaches so far. Asking in the other order would take a leader that
// applied the record between the two questions for proof of its absence.
//
// Errors: [ErrNotProven], [ErrEpochChanged], botmesh.ErrRefused, the context's. On
// each the record may be there.
func (j *Journal) Prove(ctx context.Context, chat botmesh.ChatKey, seq uint64) (there bool, err error) {
	for asked := false; ; asked = true {
		m, err := j.inbox.Next(ctx, ">", seq)
		switch {
		case err == nil && m.Seq == seq && m.Subject != subjectOf(familyIn, j.bot, chat):
			return false, fmt.Errorf("%w: %d is another chat's than %s", ErrEpochChanged, seq, chat.Key())
		case err == nil:
			return m.Seq == seq, nil
		case !errors.Is(err, botmesh.ErrNotFound):
			return false, fmt.Errorf("journal: prove %s at %d: %w", chat.Key(), seq, err)
		case asked:
			return false, nil
		}
		info, err := j.sameEpoch(ctx)
		if err != nil {
			return false, err
		}
		if info.LastSeq < seq {
			return false, fmt.Errorf("%w: %s at %d, the stream ends at %d", ErrNotProven, chat.Key(), seq, info.LastSeq)
		}
	}
}
