package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// The versions of a record's body that this build writes: a later one only where there is
// something that readers of the earlier one do not know of.
const (
	versionPlain = 1
	versionMedia = 2 // sends with files
	versionLinks = 3 // sends with links
)

// Version is the newest version of a record's body that this build reads.
const Version = versionLinks

// Bounds of a record.
const (
	MaxBody = 512 << 10 // bytes of the encoded body
	MaxID   = 200       // bytes of Record.ID and of Record.User
)

var (
	// ErrInvalid says that a record can not be journaled as it is, now or ever:
	// nothing was written.
	ErrInvalid = errors.New("journal: not a valid record")

	// ErrNewer says that a record was written by a newer build in a version that
	// this one can not read. It must not be touched.
	ErrNewer = errors.New("journal: record of a newer version than this build reads")

	// ErrUnreadable says that what stands in the journal is not a record. It will
	// never be one: it can be set aside.
	ErrUnreadable = errors.New("journal: not readable as a record")
)

// Entry is what stands at one place of the journal.
type Entry struct {
	// Record has its place and what could be read.
	Record botmesh.Record
	// Err is nil, or matches [ErrNewer] or [ErrUnreadable]: the record is there but
	// must not be run.
	Err error
}

// body is the part of a record that is not headers. Fields are only ever added; a
// build that must not be read by older ones raises the version.
type body struct {
	Version int              `json:"v"`
	Message botmesh.Message  `json:"message"`
	Sends   []botmesh.Send   `json:"sends,omitempty"`
	Failed  *botmesh.Failure `json:"failed,omitempty"`
	Resume  *botmesh.Resume  `json:"resume,omitempty"`
	Raw     json.RawMessage  `json:"raw,omitempty"`
}

// encode writes a record as a message of its chat's subject.
func encode(bot string, r botmesh.Record) (jet.Msg, error) {
	if err := validate(r); err != nil {
		return jet.Msg{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	data, err := encodeBody(r)
	if err != nil {
		return jet.Msg{}, err
	}
	kind, family := typeOf(string(r.Type)), familyIn
	if kind == botmesh.TypeStatus {
		family = familyStatus
	}
	h := nats.Header{}
	h.Set(headerType, string(kind))
	setText(h, headerUser, r.User)
	setText(h, headerRequeueOf, r.RequeueOf)
	setText(h, headerReplayOf, r.ReplayOf)
	setChat(h, r.Chat)
	if !r.SentAt.IsZero() {
		h.Set(headerSentAt, r.SentAt.UTC().Format(time.RFC3339Nano))
	}
	if r.Hops > 0 {
		h.Set(headerHops, strconv.Itoa(r.Hops))
	}
	setTrace(h, r.Trace)
	if r.Timer == "" {
		h.Set(headerMsgID, bot+":"+r.Chat.Provider+":"+escapeHeader(r.ID))
	} else { // what a schedule publishes has no message id
		setText(h, headerID, r.ID)
		setText(h, headerTimer, r.Timer)
	}
	return jet.Msg{Subject: subjectOf(family, bot, r.Chat), Header: h, Data: data}, nil
}

func validate(r botmesh.Record) error {
	err := r.Chat.Validate()
	if r.ID == "" || len(r.ID) > MaxID {
		err = errors.Join(err, fmt.Errorf("an id of %d bytes, want 1 to %d", len(r.ID), MaxID))
	}
	if len(r.User) > MaxID {
		err = errors.Join(err, fmt.Errorf("a user of %d bytes, want at most %d", len(r.User), MaxID))
	}
	if r.Hops < 0 {
		err = errors.Join(err, fmt.Errorf("%d hops", r.Hops))
	}
	if y := r.SentAt.UTC().Year(); !r.SentAt.IsZero() && (y < 1 || y > 9999) {
		err = errors.Join(err, fmt.Errorf("sent in the year %d", y))
	}
	return err
}

// setChat writes the chat where the subject can not tell it.
func setChat(h nats.Header, chat botmesh.ChatKey) {
	if _, err := botmesh.ParseToken(chat.Provider, chat.Token()); err != nil {
		h.Set(headerChat, chat.String())
	}
}

// encodeBody leaves raw out if the body does not fit with it.
func encodeBody(r botmesh.Record) ([]byte, error) {
	raw, version := r.Raw, versionPlain
	file := func(s botmesh.Send) bool { return s.Media != nil }
	if slices.ContainsFunc(r.Sends, file) || r.Failed != nil && file(r.Failed.Send) {
		version = versionMedia
	}
	if slices.ContainsFunc(r.Sends, botmesh.Send.HasLink) || r.Failed != nil && r.Failed.Send.HasLink() {
		version = versionLinks
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for {
		if err := enc.Encode(body{Version: version, Message: r.Message, Sends: r.Sends, Failed: r.Failed, Resume: r.Resume, Raw: raw}); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		if b.Len() <= MaxBody {
			return b.Bytes(), nil
		}
		if raw == nil {
			return nil, fmt.Errorf("journal: %w: a body of %d bytes, want at most %d", botmesh.ErrTooLarge, b.Len(), MaxBody)
		}
		raw = nil
		b.Reset()
	}
}

// decode reads a message of a family's subject. It never fails: what can not be
// read is an Entry with an error.
func decode(family, bot, epoch string, m jet.Stored) Entry {
	r, err := readHead(family, bot, m)
	r.Epoch, r.Seq, r.Stored = epoch, m.Seq, m.Time
	if err == nil {
		err = readBody(&r, m.Data)
	}
	if err != nil && !errors.Is(err, ErrNewer) {
		err = fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return Entry{Record: r, Err: err}
}

// readHead reads what subject and headers say. With an error the record holds
// what could be read.
func readHead(family, bot string, m jet.Stored) (botmesh.Record, error) {
	var r botmesh.Record
	provider, token, _, err := parseSubject(family, bot, m.Subject)
	if err != nil {
		return r, err
	}
	f := fields{h: m.Header}
	r.ID = f.id(bot, provider)
	r.Type = typeOf(m.Header.Get(headerType))
	r.User, r.Timer = f.text(headerUser), f.text(headerTimer)
	r.RequeueOf, r.ReplayOf = f.text(headerRequeueOf), f.text(headerReplayOf)
	r.SentAt = f.time(headerSentAt)
	r.Hops = f.number(headerHops)
	r.Trace = f.trace()
	if r.Chat, err = chatOf(provider, token, m.Header.Get(headerChat)); err != nil {
		return r, err
	}
	if f.err == nil && r.ID == "" {
		f.fail(headerMsgID, errors.New("no id"))
	}
	return r, f.err
}

func readBody(r *botmesh.Record, data []byte) error {
	var b body
	err := json.Unmarshal(data, &b)
	if err != nil {
		// A newer version may differ in all but the version itself.
		var head struct {
			Version int `json:"v"`
		}
		if json.Unmarshal(data, &head) != nil {
			return fmt.Errorf("body: %w", err)
		}
		b.Version = head.Version
	}
	switch {
	case b.Version > Version:
		return fmt.Errorf("%w: %d, want at most %d", ErrNewer, b.Version, Version)
	case err != nil:
		return fmt.Errorf("body: %w", err)
	case b.Version < 1:
		return errors.New("body: no version")
	}
	r.Message, r.Sends, r.Failed, r.Resume, r.Raw = b.Message, b.Sends, b.Failed, b.Resume, b.Raw
	return nil
}
