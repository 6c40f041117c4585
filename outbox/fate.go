package outbox

import (
	"context"
	"time"

	"github.com/botmesh-go/botmesh"
)

// State is what became of a part, in one word. Later words outweigh earlier ones: a
// part that was read is not delivered again, in whatever order that is heard.
type State string

// The states of a part.
const (
	StateWaiting   State = "waiting"   // not called yet, or to be called again
	StateHeld      State = "held"      // in doubt, and parked for an operator
	StateDead      State = "dead"      // not taken: a dead letter, or not called as the chat is blocked
	StateSent      State = "sent"      // the platform took it
	StateFailed    State = "failed"    // the platform took it and could not deliver it
	StateDelivered State = "delivered" // it is on the user's device
	StateRead      State = "read"      // the user saw it
)

// Fate is one part of a letter with all that is known of it: what the outbox holds,
// and, once [Attach] was called, what the platform told later.
type Fate struct {
	Seq    uint64       `json:"seq"`    // of the letter
	Letter string       `json:"letter"` // its id
	At     time.Time    `json:"at"`     // of its commit
	Part   botmesh.Part `json:"part"`
	// Receipt is nil while the part is not settled.
	Receipt *botmesh.Receipt `json:"receipt,omitempty"`
	// Sent, Delivered, Read and Failed are when the platform says that it was, each
	// zero if it says nothing of it. In a group it is the first of its members.
	Sent      time.Time `json:"sent,omitzero"`
	Delivered time.Time `json:"delivered,omitzero"`
	Read      time.Time `json:"read,omitzero"`
	Failed    time.Time `json:"failed,omitzero"`
	// Reason is the platform's, of Failed.
	Reason string `json:"reason,omitempty"`
}

// State is what became of the part. What the platform told outweighs the receipt: a
// part in doubt of which it tells was taken.
func (f Fate) State() State {
	switch {
	case !f.Read.IsZero():
		return StateRead
	case !f.Delivered.IsZero():
		return StateDelivered
	case !f.Failed.IsZero():
		return StateFailed
	case !f.Sent.IsZero():
		return StateSent
	case f.Receipt == nil:
		return StateWaiting
	}
	switch f.Receipt.Result {
	case botmesh.ResultHeld:
		return StateHeld
	case botmesh.ResultPermanent:
		return StateDead
	}
	return StateSent
}

// fatePage is how many entries of a chain Fates reads at once.
const fatePage = 256

// Fates returns what became of the parts of up to limit letters of a chat at or after
// a sequence, in order, joined with their receipts. To go on, give the sequence after
// the last one's. Errors are as of [Outbox.Letters].
func (o *Outbox) Fates(ctx context.Context, chat botmesh.ChatKey, from uint64, limit int) ([]Fate, error) {
	letters, err := o.Letters(ctx, chat, from, limit)
	if err != nil || len(letters) == 0 {
		return nil, err
	}
	var fates []Fate
	missing := map[string]int{} // by the part's id, its place among the fates
	for _, l := range letters {
		for _, p := range l.Letter.Parts {
			missing[p.ID] = len(fates)
			fates = append(fates, Fate{Seq: l.Seq, Letter: l.Letter.ID, At: l.Letter.At, Part: p})
		}
	}
	// A receipt stands behind its letter, in the same stream.
	for at := letters[0].Seq; at > 0 && len(missing) > 0; {
		var receipts []botmesh.Receipt
		if receipts, at, err = o.Receipts(ctx, chat, at, fatePage); err != nil {
			return nil, err
		}
		for _, r := range receipts {
			if i, ok := missing[r.Part]; ok {
				fates[i].Receipt = &r
				delete(missing, r.Part)
			}
		}
	}
	return fates, nil
}

// Attach adds to fates what the platform told of them: records of TypeStatus, in any
// order, however often, also from before the part's receipt. One is of the part that
// it names, else of the message that the part became. Others, and words that are not
// known, change nothing.
func Attach(fates []Fate, statuses []botmesh.Record) {
	byPart, byMessage := map[string]*Fate{}, map[string]*Fate{}
	for i := range fates {
		f := &fates[i]
		byPart[f.Part.ID] = f
		if f.Receipt != nil && f.Receipt.ProviderID != "" {
			byMessage[f.Receipt.ProviderID] = f
		}
	}
	for _, s := range statuses {
		f := byPart[s.Message.Part]
		if f == nil {
			f = byMessage[s.Message.Of]
		}
		if f == nil {
			f = byPart[s.Message.Of] // a backend that calls messages by our ids
		}
		if f != nil && s.Type == botmesh.TypeStatus {
			f.hear(s)
		}
	}
}

// hear takes in one status. Of several of a kind the earliest counts.
func (f *Fate) hear(s botmesh.Record) {
	at := s.SentAt
	if at.IsZero() {
		at = s.Stored
	}
	first := func(t *time.Time) bool {
		earlier := t.IsZero() || at.Before(*t)
		if earlier {
			*t = at
		}
		return earlier
	}
	switch s.Message.Status {
	case "sent":
		first(&f.Sent)
	case "delivered":
		first(&f.Delivered)
	case "read", "played":
		first(&f.Read)
	case "failed":
		if first(&f.Failed) {
			f.Reason = s.Message.Text
		}
	}
}
