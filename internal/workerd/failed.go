package workerd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
)

// SetAside is what becomes of parts that can not be sent. One that is held is written down
// for operators. One that a platform will never take goes among the dead letters, and then
// its chat is told. A crash in between, or before the receipt, repeats both: the dead letter
// is one by its subject, the record by its id.
func SetAside(j *journal.Journal) func(context.Context, outbox.DeadSend) error {
	return func(ctx context.Context, d outbox.DeadSend) error {
		_, err := j.SetAsidePart(ctx, journal.DeadPart{
			Chat: d.Chat, Part: d.Part.ID, Send: d.Part.Send, Tries: d.Tries, Error: d.Error, Trace: d.Trace, Held: d.Held,
		})
		if err != nil || d.Held {
			return err
		}
		if told, err := ofFailure(ctx, j, d.Chat, d.Letter); told || err != nil {
			return err
		}
		sum := sha256.Sum256([]byte(d.Part.ID))
		_, err = j.Publish(ctx, botmesh.Record{
			Type: botmesh.TypeEvent, ID: "failed:" + hex.EncodeToString(sum[:16]), Chat: d.Chat, Trace: d.Trace,
			Failed: &botmesh.Failure{Part: d.Part.ID, Send: d.Part.Send, Tries: d.Tries, InDoubt: d.InDoubt, Error: d.Error, Blocked: d.Blocked},
		})
		return err
	}
}

// ofFailure reports whether a letter was said about a failure: to be told of its own too
// would go on for ever.
func ofFailure(ctx context.Context, j *journal.Journal, chat botmesh.ChatKey, letter string) (bool, error) {
	place, _, _ := strings.Cut(strings.TrimPrefix(letter, chat.Key()+"/"), "/")
	epoch, number, _ := strings.Cut(place, ".")
	seq, err := strconv.ParseUint(number, 10, 64)
	if err != nil || seq == 0 || epoch != j.Epoch() {
		return false, nil // of an older journal, which has no such record any more
	}
	found, err := j.Read(ctx, chat, seq-1, 1)
	if err != nil || len(found) == 0 {
		return false, err
	}
	r := found[0].Record
	return r.Seq == seq && r.Failed != nil, nil
}
