package botmesh

import (
	"encoding/json"
	"time"
)

// RecordType says what kind of inbound event a record holds. It is the
// Bot-Type header on the wire.
type RecordType string

// The record types. A bot handles TypeMessage and TypeCallback; all others are kept
// in their place and have no effect on it. An unknown type is kept as TypeEvent.
const (
	TypeMessage    RecordType = "message"    // a user wrote something
	TypeCallback   RecordType = "callback"   // a user pressed a button
	TypeEdit       RecordType = "edit"       // a user changed an earlier message
	TypeDelete     RecordType = "delete"     // a user removed an earlier message
	TypeReaction   RecordType = "reaction"   // a user reacted to a message
	TypeStatus     RecordType = "status"     // a platform tells what became of a send
	TypeMembership RecordType = "membership" // somebody joined, left or blocked the bot
	TypeOptOut     RecordType = "optout"     // a user wants no more of some kind of message
	TypeOptIn      RecordType = "optin"      // a user wants them again
	TypeCommand    RecordType = "command"    // another chat, a backend or an operator asks for something in this chat
	TypeTimer      RecordType = "timer"      // a timer of the chat fired
	TypeEvent      RecordType = "event"      // anything else, kept but ignored by default
)

// Record is one inbound event of one chat, as it is journaled.
type Record struct {
	// Epoch and Seq are the record's place in the journal: sequences are
	// compared only within one epoch. Stored is the server's time of it. All
	// three are zero until the record is stored.
	Epoch  string    `json:"-"`
	Seq    uint64    `json:"-"`
	Stored time.Time `json:"-"`

	Type RecordType `json:"-"`
	// ID is the platform's id of the event, unique within bot and provider: a
	// webhook delivered twice has it twice and is one record. Never empty, at
	// most 200 bytes.
	ID   string  `json:"-"`
	Chat ChatKey `json:"-"`
	// User is the platform's id of who did it, empty if nobody did.
	User string `json:"-"`
	// SentAt is the platform's time of the event, zero if it gives none.
	SentAt time.Time `json:"-"`
	// Timer is the id under which the timer was armed that fired, of a TypeTimer record.
	Timer string `json:"-"`
	// Hops counts the commands that led to this record, against loops.
	Hops int `json:"-"`
	// RequeueOf and ReplayOf name the dead letter or record that this one
	// repeats, empty otherwise.
	RequeueOf string `json:"-"`
	ReplayOf  string `json:"-"`
	// Trace is the trace context the record was journaled under (traceparent,
	// tracestate).
	Trace map[string]string `json:"-"`

	Message Message `json:"message"`
	// Sends are what a TypeCommand record asks to be sent in this chat.
	Sends []Send `json:"sends,omitempty"`
	// Resume says, of a TypeCommand record, that an operator ends a pause of the chat.
	Resume *Resume `json:"resume,omitempty"`
	// Failed is the part that a TypeEvent record tells of: the platform will never take
	// it, or took it and could not deliver it. Nil for what a user did.
	Failed *Failure `json:"failed,omitempty"`
	// Raw is what the platform sent for this event, as it was, for handlers that
	// need more than Message. It may be nil.
	Raw json.RawMessage `json:"raw,omitempty"`
}

// PutBack reports whether the record repeats another because an operator put that back:
// out of the dead letters, or for a replay.
func (r Record) PutBack() bool { return r.RequeueOf != "" || r.ReplayOf != "" }

// Resume is the end of a pause of a chat. What the user did meanwhile is passed over,
// as far as the operator chose so; timers get the time that they had left.
type Resume struct {
	Paused  time.Time `json:"paused"`
	Resumed time.Time `json:"resumed"`
	// Ask says that the question at which the chat waits, if it does, is asked again.
	Ask bool `json:"ask,omitempty"`
	// Forget says that what is kept of the chat is forgotten: its conversation and its values.
	Forget bool `json:"forget,omitempty"`
	// Of the user's records and timers journaled since Paused, those up to sequence
	// Through had no effect, but for the one at Keep and those that were put back.
	Through uint64 `json:"through,omitempty"`
	Keep    uint64 `json:"keep,omitempty"`
}

// Failure is a part of a send that the platform will never take, that it took and could
// not deliver, or that could not be sent before it was too old. It is a dead letter too.
type Failure struct {
	Part string `json:"part"` // its id
	// Of is the platform's id of the message, if it had taken the part and told later
	// that the user will not get it; empty if it never took it.
	Of string `json:"of,omitempty"`
	// Send is what was to be sent, empty if it is so long ago that the outbox keeps it no more.
	Send  Send `json:"send"`
	Tries int  `json:"tries"` // calls that were made
	// InDoubt says that one of the calls may have been taken all the same.
	InDoubt bool `json:"in_doubt,omitempty"`
	// Error is the platform's answer.
	Error string `json:"error"`
	// Blocked says that the platform takes nothing for the chat until its user does
	// something there again.
	Blocked bool `json:"blocked,omitempty"`
}

// Message is what a record says, in words that do not depend on the platform.
type Message struct {
	Text string `json:"text,omitempty"`
	// Payload is the data of a pressed button.
	Payload string `json:"payload,omitempty"`
	// MessageID is the platform's id of the message itself (Record.ID is the
	// event's), Of the id of the message it edits, deletes or reacts to, ReplyTo
	// of the one it answers, Group of the album it is part of.
	MessageID string `json:"message_id,omitempty"`
	Of        string `json:"of,omitempty"`
	ReplyTo   string `json:"reply_to,omitempty"`
	Group     string `json:"group,omitempty"`
	// UserName is how the platform shows the user, Locale the user's language as
	// a BCP 47 tag.
	UserName string `json:"user_name,omitempty"`
	Locale   string `json:"locale,omitempty"`
	// Status is what a status or membership record reports, and what an opt-out or opt-in
	// is of, in the platform's word (empty for all that the bot sends by itself); Text
	// says why a message failed. Part is the id of the part that a status is of, where
	// the platform tells it beside Of.
	Status string  `json:"status,omitempty"`
	Part   string  `json:"part,omitempty"`
	Media  []Media `json:"media,omitempty"`
	// Location and Contact are what the user shared, nil if nothing of the kind.
	Location *Location `json:"location,omitempty"`
	Contact  *Contact  `json:"contact,omitempty"`
	// Unsupported says that the user sent something that the platform's API can not show.
	Unsupported bool `json:"unsupported,omitempty"`
}

// Location is a place on earth, in degrees: north and east are positive.
type Location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

// Contact is somebody's card. Phone is as the platform has it, User the platform's
// id of that person, empty if it is not one of its users.
type Contact struct {
	Name  string `json:"name,omitempty"`
	Phone string `json:"phone,omitempty"`
	User  string `json:"user,omitempty"`
}
