package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/metric"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/telemetry"
)

// DeadKind says what a dead letter holds. It is the Bot-Dead-Kind header.
type DeadKind string

// The kinds of dead letters.
const (
	DeadRecord DeadKind = "record" // a record that kept failing
	DeadSend   DeadKind = "send"   // a part that the platform will never take
	DeadHeld   DeadKind = "held"   // a part that is held: it may have reached the platform
)

// Headers that a dead letter has beside those of the record.
const (
	headerDeadKind  = "Bot-Dead-Kind"
	headerDeadEpoch = "Bot-Dead-Epoch"
	headerDeadSeq   = "Bot-Dead-Seq"
	headerDeadPart  = "Bot-Dead-Part"
	headerDeadTries = "Bot-Dead-Tries"
	headerDeadError = "Bot-Dead-Error"
	headerDeadBy    = "Bot-Dead-By"
)

// maxDeadError bounds the error that a dead letter keeps, in bytes.
const maxDeadError = 1 << 10

// Dead is a record to be set aside.
type Dead struct {
	Chat botmesh.ChatKey
	// Epoch and Seq are the record's place in the journal.
	Epoch string
	Seq   uint64
	Tries int
	Error string
}

// DeadPart is a part of a letter to be set aside.
type DeadPart struct {
	Chat botmesh.ChatKey
	// Part is the part's id: the letter's, which begins with the chat's key, and
	// the part's place in it.
	Part  string
	Send  botmesh.Send
	Tries int
	Error string
	// Trace is the letter's trace context.
	Trace map[string]string
	// By is the place of the record for which it is set aside, if there is one, as
	// epoch.sequence.
	By string
	// Held sets it aside as [DeadHeld], beside what is set aside of it otherwise.
	Held bool
}

// SetAside stores a record as a dead letter, with its headers, body and trace as
// they stand in the journal: what this build can not read is kept too. A record
// that is no longer there, or of another epoch, is set aside without its body.
//
// It may be repeated, by any process: the same record is set aside once. On
// botmesh.ErrRefused, botmesh.ErrUnknown and [ErrNotProven] it is to be repeated.
func (j *Journal) SetAside(ctx context.Context, d Dead) error {
	if err := d.Chat.Validate(); err != nil {
		return fmt.Errorf("journal: set aside: %w", err)
	}
	if !botmesh.ValidName(d.Epoch) {
		return fmt.Errorf("journal: set aside: %q is no epoch", d.Epoch)
	}
	m, err := j.original(ctx, d)
	if err != nil {
		return fmt.Errorf("journal: set aside %d of %s: %w", d.Seq, d.Chat.Key(), err)
	}
	m.Subject = deadSubject(j.bot, d.Chat, recordPlace(d.Epoch, d.Seq))
	m.Header.Set(headerDeadEpoch, d.Epoch)
	m.Header.Set(headerDeadSeq, strconv.FormatUint(d.Seq, 10))
	_, err = j.bury(ctx, DeadRecord, d.Chat, m, d.Tries, d.Error)
	return err
}

// SetAsidePart stores a part of a letter as a dead letter. It may be repeated:
// the same part is set aside once. It returns the By of whoever was first, for as long as
// dead letters are kept, also where they were forgotten. Errors are as of [Journal.SetAside].
func (j *Journal) SetAsidePart(ctx context.Context, d DeadPart) (by string, err error) {
	what, ok := partPlace(d.Chat, d.Part)
	odd := func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	}
	if err := d.Chat.Validate(); err != nil || !ok || what == "" || strings.ContainsFunc(what, odd) {
		return "", fmt.Errorf("journal: set aside: %q is not a part of chat %s", d.Part, d.Chat.Key())
	}
	data, err := json.Marshal(d.Send)
	if err != nil {
		return "", fmt.Errorf("journal: set aside %s: %w", d.Part, err)
	}
	kind := DeadSend
	if d.Held {
		kind, what = DeadHeld, what+heldSuffix
	}
	m := jet.Msg{Subject: deadSubject(j.bot, d.Chat, what), Header: nats.Header{}, Data: data}
	m.Header.Set(headerDeadPart, d.Part)
	if d.By != "" {
		m.Header.Set(headerDeadBy, d.By)
	}
	setTrace(m.Header, d.Trace)
	return j.bury(ctx, kind, d.Chat, m, d.Tries, d.Error)
}

// heldSuffix is what the subject of a part ends in that is held.
const heldSuffix = "-held"

// recordPlace and partPlace are what the subject of a dead letter ends in.
func recordPlace(epoch string, seq uint64) string { return epoch + "-" + strconv.FormatUint(seq, 10) }

func partPlace(chat botmesh.ChatKey, part string) (what string, ok bool) {
	what, ok = strings.CutPrefix(part, chat.Key()+"/")
	return strings.NewReplacer(".", "-", "/", "-").Replace(what), ok
}

// original reads the record as it stands in the journal, without its message id:
// a dead letter is known by its subject. It is empty if proven absent.
func (j *Journal) original(ctx context.Context, d Dead) (jet.Msg, error) {
	m := jet.Msg{Header: nats.Header{}}
	if d.Epoch != j.epoch {
		return m, nil
	}
	stored, err := j.inbox.Get(ctx, d.Seq)
	if errors.Is(err, botmesh.ErrNotFound) {
		there, err := j.Prove(ctx, d.Chat, d.Seq)
		if err == nil && there {
			err = fmt.Errorf("%w: found only at the second look", botmesh.ErrRefused)
		}
		return m, err
	}
	if err != nil {
		return m, err
	}
	for key, values := range stored.Header {
		if strings.HasPrefix(key, "Bot-") || key == headerParent || key == headerState {
			m.Header[key] = values
		}
	}
	if r, _ := readHead(familyIn, j.bot, stored); r.ID != "" {
		m.Header.Set(headerID, escapeHeader(r.ID))
	}
	m.Data = stored.Data
	return m, nil
}

// bury publishes a dead letter as the first and only message of its subject. A
// conflict is settled by looking: there is one, whose By is returned, or the answer was a
// mistake.
func (j *Journal) bury(ctx context.Context, kind DeadKind, chat botmesh.ChatKey, m jet.Msg, tries int, why string) (by string, err error) {
	m.Header.Set(headerDeadKind, string(kind))
	m.Header.Set(headerDeadTries, strconv.Itoa(max(tries, 0)))
	m.Header.Set(headerDeadError, escapeHeader(strings.ToValidUTF8(why[:min(len(why), maxDeadError)], "")))
	setChat(m.Header, chat)
	var there jet.Stored
	first, repeated := uint64(0), false
	err = jet.Settle(ctx, func(ctx context.Context) error {
		_, err := j.dead.Publish(ctx, jet.Publish{Msg: m, Expect: &first})
		if !errors.Is(err, botmesh.ErrConflict) {
			return err
		}
		switch there, err = j.dead.Last(ctx, m.Subject); {
		case err == nil:
			repeated = true
			return nil
		case errors.Is(err, botmesh.ErrNotFound):
			return fmt.Errorf("%w: a conflict with nothing", botmesh.ErrRefused)
		}
		return fmt.Errorf("%w: a conflict, and no look at it: %v", botmesh.ErrUnknown, err)
	})
	if err != nil {
		return "", fmt.Errorf("journal: set aside %s: %w", m.Subject, err)
	}
	if !repeated {
		if kind == DeadHeld { // is counted as in doubt
			return m.Header.Get(headerDeadBy), nil
		}
		telemetry.DeadLetters.Add(ctx, 1, metric.WithAttributes(telemetry.KeyKind.String(string(kind))))
		return m.Header.Get(headerDeadBy), nil
	}
	return there.Header.Get(headerDeadBy), nil
}

// DeadLetter is what was set aside, and why.
type DeadLetter struct {
	Seq   uint64 // in the stream of dead letters
	At    time.Time
	Kind  DeadKind
	Chat  botmesh.ChatKey
	Tries int
	Error string
	// Entry is the record, for the kind record. Its place is the one it had in the
	// journal.
	Entry Entry
	// Part and Send are the part of the letter, for the kinds send and held.
	Part string
	Send botmesh.Send
	// By is that of the [DeadPart].
	By string
	// Trace is the trace context of the record, or of the letter.
	Trace map[string]string
}

// DeadLetters lists dead letters in the order they were set aside; parts that are held
// are none, and listed only if that kind is asked for. What is not listed, and what was
// forgotten, does not count for the limit: to get past it all that was set aside may be
// read. Errors are as of [Journal.List].
func (j *Journal) DeadLetters(ctx context.Context, f Filter) ([]DeadLetter, error) {
	subject := allOf(familyDead, j.bot)
	if f.Chat != (botmesh.ChatKey{}) {
		subject = deadSubject(j.bot, f.Chat, "*")
	}
	stored, err := scan(ctx, j.dead, subject, f, func(m jet.Stored) bool {
		kind := DeadKind(m.Header.Get(headerDeadKind))
		return kind != deadForgotten && (kind == f.Kind || f.Kind == "" && kind != DeadHeld)
	})
	if err != nil {
		return nil, fmt.Errorf("journal: list dead letters: %w", err)
	}
	letters := make([]DeadLetter, len(stored))
	for i, m := range stored {
		letters[i] = j.exhume(m)
	}
	return letters, nil
}

// exhume reads a dead letter. What can not be read is left empty; of a record the
// Entry says why.
func (j *Journal) exhume(m jet.Stored) DeadLetter {
	f := fields{h: m.Header}
	l := DeadLetter{
		Seq:   m.Seq,
		At:    m.Time,
		Kind:  DeadKind(m.Header.Get(headerDeadKind)),
		Tries: f.number(headerDeadTries),
		Error: f.text(headerDeadError),
		Part:  m.Header.Get(headerDeadPart),
		By:    m.Header.Get(headerDeadBy),
		Trace: f.trace(),
	}
	if provider, token, _, err := parseSubject(familyDead, j.bot, m.Subject); err == nil {
		l.Chat, _ = chatOf(provider, token, m.Header.Get(headerChat))
	}
	if l.Kind == DeadSend || l.Kind == DeadHeld {
		_ = json.Unmarshal(m.Data, &l.Send) // shown as empty
		return l
	}
	l.Entry = decode(familyDead, j.bot, m.Header.Get(headerDeadEpoch), m)
	l.Entry.Record.Seq, l.Entry.Record.Stored = f.sequence(headerDeadSeq), time.Time{}
	return l
}
