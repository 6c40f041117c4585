// Package history is what the processes of a run did, line by line.
//
// Each process appends to a file of its own, one JSON line an event, written
// whole and at once, so that a line survives the death of its process. All lines
// carry the machine's monotonic clock, which every process of the machine shares:
// merged by it, the files of a run are one ordered history.
//
// An operation is two lines, its call and its result. A process that dies leaves
// a call without a result: what became of it is unknown.
//
// What belongs here: the lines, writing and reading them. What they prove does
// not: that is package check's.
package history

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/botmesh-go/botmesh"
)

// Kind says what happened.
type Kind string

// What a process tells of itself.
const (
	Started Kind = "started" // the process began; Target is its program
	Stall   Kind = "stall"   // it stood still for Took, ended now
	Point   Kind = "point"   // the crash point ID fired, for the chat Target; Outcome is kill or stop

	Take    Kind = "take"    // a turn was asked for: Place, Floor; granted: Fence, Previous, Released, Blind
	Release Kind = "release" // a turn was given up: Fence, Passed
	Lost    Kind = "lost"    // a turn was lost: Fence, Error is the reason

	Load    Kind = "load"    // a checkpoint was read: Seq, ID is its nonce
	Commit  Kind = "commit"  // a checkpoint was to be replaced: Expect, ID is the nonce, Entry the sort of write, Fence, Cursor
	Letter  Kind = "letter"  // a letter was to be appended: Expect, ID
	Chain   Kind = "chain"   // an entry of a receipt chain was to be appended: Expect, ID, Entry is its kind, Free, Part
	Dead    Kind = "dead"    // a dead letter was to be stored: ID is the end of its subject
	Publish Kind = "publish" // a record was to be journaled: ID; done: Seq, Duplicate
	Arm     Kind = "arm"     // a timer was to be armed: ID; done: Seq
	Disarm  Kind = "disarm"  // a timer was to be taken back: ID
	Mailbox Kind = "mailbox" // a chat's records were read: Seq is the first place looked at, Count how many came
	Ack     Kind = "ack"     // a record was acknowledged: Seq
	Nak     Kind = "nak"     // a record was given back: Seq, Took is for how long
	Call    Kind = "call"    // the platform was called: Part, Text is a digest
)

// What the harness tells.
const (
	Webhook  Kind = "webhook"  // an update was posted: Chat, ID, Target is the ingress; done: Status, zero for no answer
	Order    Kind = "order"    // a backend had a worker, Target, send to a Chat: ID is its record's, Text a digest; done: Status as of Webhook, Seq
	Platform Kind = "platform" // the platform met a call: Chat, By is the process, Text a digest, Outcome accepted, dropped or refused
	Fault    Kind = "fault"    // a fault, from its call to its result: ID names it, Target is what it befalls; done: Effect is what was seen of it, Error why it could not be done
	Spawned  Kind = "spawned"  // the process Target was started
	Exited   Kind = "exited"   // the process Target has ended; Status is its exit code, -1 for a signal
	Healed   Kind = "healed"   // no fault is left
	Drained  Kind = "drained"  // nothing is left to do, as far as the harness sees
)

// Phase says which of the two lines of an operation this is. It is empty for what
// has no length.
type Phase string

// The phases of an operation.
const (
	Began Phase = "call"
	Ended Phase = "done"
)

// Outcome is how an operation ended.
type Outcome string

// The outcomes. A write is done, in conflict, refused or unknown; so is a read,
// that may find nothing too.
const (
	Done     Outcome = "done"
	Conflict Outcome = "conflict"
	Refused  Outcome = "refused"
	Unknown  Outcome = "unknown"
	NotFound Outcome = "not found"
	Failed   Outcome = "failed" // certainly nothing happened, and never will

	Granted Outcome = "granted" // of Take
	Passed  Outcome = "passed"

	Retry     Outcome = "retry" // of Call: certainly not taken
	Permanent Outcome = "permanent"
	Doubt     Outcome = "doubt" // of Call: it may have been taken

	Accepted Outcome = "accepted" // of Platform: the user sees it, and the caller was told so
	Dropped  Outcome = "dropped"  // of Platform: the user sees it, and the caller got an error or no answer
)

// Event is one line. Which fields a kind has is said at the kinds; every other one
// is zero.
type Event struct {
	// T is the machine's monotonic clock, in nanoseconds, and Wall the wall clock,
	// to be compared with the servers' times.
	T    int64     `json:"t"`
	Wall time.Time `json:"w"`
	// Process names the process that wrote this; Start is unique to this start of it.
	Process string `json:"p"`
	Start   string `json:"i"`
	// N numbers the events of a process from 1. Of a result, Of is the N of its call.
	N  uint64 `json:"n"`
	Of uint64 `json:"of,omitempty"`

	Kind    Kind    `json:"k"`
	Phase   Phase   `json:"ph,omitempty"`
	Outcome Outcome `json:"out,omitempty"`
	// Error is what went wrong, for people.
	Error string `json:"err,omitempty"`

	// Chat is the chat's key, provider.token.
	Chat string `json:"chat,omitempty"`
	// By is who this is about: a coordinator's incarnation, or the process that
	// called the platform.
	By     string `json:"by,omitempty"`
	Target string `json:"target,omitempty"`
	ID     string `json:"id,omitempty"`
	Part   string `json:"part,omitempty"`
	Entry  string `json:"entry,omitempty"`
	Text   string `json:"text,omitempty"`
	Effect string `json:"effect,omitempty"`

	Expect *uint64 `json:"expect,omitempty"`
	Seq    uint64  `json:"seq,omitempty"`
	Cursor uint64  `json:"cursor,omitempty"`
	Fence  uint64  `json:"fence,omitempty"`
	Place  uint64  `json:"place,omitempty"`
	Floor  uint64  `json:"floor,omitempty"`
	Passed uint64  `json:"passed,omitempty"`
	Count  int     `json:"count,omitempty"`
	Status int     `json:"status,omitempty"`

	Previous  string        `json:"prev,omitempty"`
	Released  bool          `json:"released,omitempty"`
	Blind     bool          `json:"blind,omitempty"`
	Free      bool          `json:"free,omitempty"`
	Duplicate bool          `json:"dup,omitempty"`
	Took      time.Duration `json:"took,omitempty"`
}

// Digest stands for a text in a history: a run's texts are compared, not shown.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Telegram is the key of a private Telegram chat.
func Telegram(chat int64) string {
	return botmesh.ChatKey{Provider: "telegram", Chat: strconv.FormatInt(chat, 10)}.Key()
}

// Update is the id of the record that a Telegram update becomes.
func Update(id int64) string { return "u" + strconv.FormatInt(id, 10) }

// Ordered is the id of the record that a send with an Idempotency-Key to a chat
// becomes, the chat by its key here.
func Ordered(chat, key string) string {
	sum := sha256.Sum256([]byte(chat + "\n" + key))
	return "send:" + hex.EncodeToString(sum[:16])
}
