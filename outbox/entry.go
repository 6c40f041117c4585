package outbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// The versions that this build writes and the newest that it reads: of entries, of letters,
// and of letters with what readers of the earlier ones do not know of.
const (
	format      = 1
	formatMedia = 2 // files
	formatLinks = 3 // texts whose spans say where they lead
)

// maxError bounds a platform's answer in an entry, in bytes.
const maxError = 512

// ErrNewerFormat says that a letter or an entry was written by a newer build in a
// format that this one can not read. It must not be touched.
var ErrNewerFormat = errors.New("outbox: written in a newer format than this build reads")

// kind says why an entry was written. It is a word of the wire.
type kind string

const (
	kindClaim   kind = "claim"   // its writer owns the chain from now on, or goes on to
	kindAttempt kind = "attempt" // its writer is about to call the part at the position
	kindReceipt kind = "receipt" // a part is settled
	kindRetry   kind = "retry"   // the part at the position was called and is put off
	kindWait    kind = "wait"    // the part at the position was not called, and is put off
	kindFree    kind = "free"    // its writer has nothing to call
)

// entry is one message of a chat's chain. Each says all that whoever writes the
// next one has to know, so that only the last is ever read.
type entry struct {
	V    int    `json:"v"`
	ID   string `json:"id"` // unique to this entry: a read that shows it proves the write
	By   string `json:"by"` // the incarnation
	Kind kind   `json:"kind"`
	// Free says that the writer calls nothing after it, so that anybody may claim
	// at once.
	Free bool `json:"free,omitempty"`
	// Calls is how many parts from the position on the writer may call before its
	// next entry is in the chain.
	Calls int `json:"calls,omitempty"`
	position
	Receipt *botmesh.Receipt `json:"receipt,omitempty"`
}

// position is how far the delivery of a chat has come.
type position struct {
	// Through is an outbox sequence: every letter of the chat up to it is settled.
	Through uint64 `json:"through"`
	// Parts counts the settled parts of the letter after Through.
	Parts int `json:"parts,omitempty"`
	// Tries counts the calls of the next part that came to nothing, and NotBefore
	// is when the next one may be made.
	Tries     int       `json:"tries,omitempty"`
	NotBefore time.Time `json:"not_before,omitzero"`
	// Doubt is how many parts from here on may have reached the platform by a call
	// that has no receipt.
	Doubt int `json:"doubt,omitempty"`
	// Blocked is why the platform takes nothing for the chat until its user does
	// something again; empty if nothing is known of the kind. Heard is that of the letter
	// to which it said so.
	Blocked string `json:"blocked,omitempty"`
	Heard   string `json:"heard,omitempty"`
	// Growing are the platform's ids of the messages that a letter to come may replace, by
	// their parts' ids. A map is never changed, as entries share it.
	Growing map[string]string `json:"growing,omitempty"`
}

// after is the position when the next part, of the letter at seq, is settled.
func (p position) after(seq uint64, lastPart bool) position {
	next := position{Through: p.Through, Parts: p.Parts + 1, Doubt: max(p.Doubt-1, 0), Blocked: p.Blocked, Heard: p.Heard, Growing: p.Growing}
	if lastPart {
		next.Through, next.Parts = seq, 0
	}
	return next
}

// putOff is the position when the next part is to be called again.
func (p position) putOff(until time.Time, doubt bool) position {
	p.Tries++
	p.NotBefore = until.UTC()
	if doubt {
		p.Doubt = max(p.Doubt, 1)
	}
	return p
}

// wait is the position when the next part, which was not called, may be.
func (p position) wait(until time.Time) position {
	p.NotBefore = until.UTC()
	return p
}

// link is an entry in its place. The zero link is the end of an empty chain.
type link struct {
	seq uint64
	entry
}

func decodeEntry(m jet.Stored) (link, error) {
	l := link{seq: m.Seq}
	err := decode(m, &l.entry, &l.V, format)
	if err == nil && min(l.Calls, l.Parts, l.Tries, l.Doubt) < 0 {
		err = errors.New("a count is below zero")
	}
	if err != nil {
		return link{}, fmt.Errorf("outbox: chain entry %d on %s: %w", m.Seq, m.Subject, err)
	}
	return l, nil
}

// stored is a letter as it stands in the stream.
type stored struct {
	V int `json:"v"`
	botmesh.Letter
}

func encodeLetter(subject string, l botmesh.Letter) (jet.Msg, error) {
	version := format
	if slices.ContainsFunc(l.Parts, func(p botmesh.Part) bool { return p.Send.Media != nil }) {
		version = formatMedia
	}
	if slices.ContainsFunc(l.Parts, func(p botmesh.Part) bool { return p.Send.HasLink() }) {
		version = formatLinks
	}
	data, err := json.Marshal(stored{version, l})
	if err != nil {
		return jet.Msg{}, fmt.Errorf("outbox: encode letter %s: %w", l.ID, err)
	}
	h := nats.Header{headerID: {l.ID}}
	for _, key := range [...]string{"traceparent", "tracestate"} {
		if v := l.Trace[key]; v != "" && !strings.ContainsAny(v, "\r\n") {
			h.Set(key, v)
		}
	}
	return jet.Msg{Subject: subject, Header: h, Data: data}, nil
}

func decodeLetter(m jet.Stored) (botmesh.Letter, error) {
	var s stored
	if err := decode(m, &s, &s.V, formatLinks); err != nil {
		return botmesh.Letter{}, fmt.Errorf("outbox: letter %d on %s: %w", m.Seq, m.Subject, err)
	}
	return s.Letter, nil
}

func decode(m jet.Stored, into any, version *int, newest int) error {
	if err := json.Unmarshal(m.Data, into); err != nil {
		return err
	}
	if *version > newest {
		return fmt.Errorf("%w: %d, want at most %d", ErrNewerFormat, *version, newest)
	}
	return nil
}
