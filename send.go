package botmesh

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Send is one outgoing message, as the bot says it. A provider splits it into
// parts, each of them one call to the platform and a Send of its own.
type Send struct {
	Text string `json:"text"`
	// Spans give styles to stretches of the text, see package markdown. Where a platform has
	// no such style the text is shown without, and where a link leads is written behind it.
	Spans []Span `json:"spans,omitempty"`
	// Media is a file that is shown above the text, nil for none. Where a platform takes
	// none of its kind the file's address is written below the text.
	Media *Media `json:"media,omitempty"`
	// Buttons are offered below the text, in rows. A platform without buttons
	// shows them as numbered lines.
	Buttons [][]Button `json:"buttons,omitempty"`
	// Grows says, of a message that is sent before its run ends, that a later one takes
	// its place. Only its first part is sent. Of one with a file it says nothing.
	Grows bool `json:"grows,omitempty"`
	// Replaces is which of the messages that its record sent before the end of the run
	// becomes this one, counted from 1; zero for none. Where the platform can not edit, or
	// that message did not go out, or this one has a file, it is a message of its own.
	Replaces int `json:"replaces,omitempty"`
	// Edits is the platform's id of an earlier message of the bot in this chat that becomes
	// this one, such as Message.Of of a pressed button; empty for none. Where the platform can
	// not edit, or not that message any more, or this one has a file, it is a message of its own.
	Edits string `json:"edits,omitempty"`
}

// MaxMessageID is how long a platform's id of a message may be, in bytes.
const MaxMessageID = 512

// checkEdits says what is wrong with the message that a send edits.
func (s Send) checkEdits() error {
	if len(s.Edits) > MaxMessageID || !utf8.ValidString(s.Edits) || strings.ContainsFunc(s.Edits, unicode.IsControl) {
		return fmt.Errorf("the id of the message to edit has %d bytes or is no line of text, want at most %d", len(s.Edits), MaxMessageID)
	}
	if s.Edits != "" && (s.Grows || s.Replaces > 0) {
		return errors.New("a send edits an earlier message, and grows or replaces another too")
	}
	return nil
}

// Button is one choice offered below a message.
type Button struct {
	Label string `json:"label"`
	// Payload comes back in Message.Payload when the button is pressed.
	Payload string `json:"payload"`
}

// Result says what became of one part of a send. It is a word of the wire.
type Result string

// The results of a part. Only these settle it; a part to be tried again has none.
const (
	ResultDelivered Result = "delivered" // the platform took it
	ResultPermanent Result = "permanent" // the platform will never take it: dead-lettered
	ResultHeld      Result = "held"      // in doubt, and parked for an operator
)

// Receipt says what became of one part of a send.
type Receipt struct {
	// Part is the id of the part: letter, number of the send, number of the part.
	Part string `json:"part"`
	// ProviderID is the platform's id of the message, empty if it gave none.
	ProviderID string `json:"provider_id,omitempty"`
	Result     Result `json:"result"`
	// Attempts counts the calls that were made, this replica's and others'.
	Attempts int `json:"attempts"`
	// InDoubt says that an earlier call of this part may have reached the
	// platform too, so that the user may see it twice.
	InDoubt bool      `json:"in_doubt,omitempty"`
	At      time.Time `json:"at"`
	// Error is the platform's answer if it refused.
	Error string `json:"error,omitempty"`
}
