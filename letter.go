package botmesh

import (
	"strconv"
	"time"
)

// Letter is one record of the outbox: all sends of one commit, cut into parts,
// in order. Its id is made from the chat and the journal's place of the record
// that caused it, so that a repeated run makes the same letter again.
type Letter struct {
	ID   string  `json:"id"`
	Chat ChatKey `json:"chat"`
	// At is the time of the commit.
	At    time.Time `json:"at"`
	Parts []Part    `json:"parts"`
	// Heard is where the last record is that the chat's user had sent by then, empty
	// if it is not known or if an operator wants the letter sent in any case. A chat that
	// takes nothing until its user does something is called again with another.
	Heard string `json:"heard,omitempty"`
	// By is the incarnation whose turn wrote it, and Fence what that was held under: a chat's
	// letters show when it changed hands.
	By    string `json:"by,omitempty"`
	Fence uint64 `json:"fence,omitempty"`
	// Trace is the trace context of the turn that wrote it.
	Trace map[string]string `json:"trace,omitempty"`
}

// Part is one call to the platform. Its id is the letter's with the number of the
// send and the number of the part, counted from zero.
type Part struct {
	ID   string `json:"id"`
	Send Send   `json:"send"`
}

// Replaced is the id of the part whose message p, a part of l, becomes; empty if it is a
// message of its own, as any with a file is.
func (l Letter) Replaced(p Part) string {
	if p.Send.Replaces <= 0 || p.Send.Media != nil {
		return ""
	}
	return l.ID + "/e" + strconv.Itoa(p.Send.Replaces-1) + ".0"
}

// LetterID is the id of the letter that a record's commit sends.
func LetterID(chat ChatKey, epoch string, seq uint64) string {
	return chat.Key() + "/" + epoch + "." + strconv.FormatUint(seq, 10)
}

// EagerLetterID is the id of the letter of the n-th send, counted from zero, that
// a run of a record sent before its commit.
func EagerLetterID(chat ChatKey, epoch string, seq uint64, n int) string {
	return LetterID(chat, epoch, seq) + "/e" + strconv.Itoa(n)
}
