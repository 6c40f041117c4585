package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/botmesh-go/botmesh"
)

// The formats that this build writes: a later one only where there is something that
// readers of the earlier ones do not know of.
const (
	formatPlain    = 1
	formatTimers   = 2
	formatCommands = 3 // and changes of users
	formatMedia    = 4 // effects that send files
	formatLinks    = 5 // effects that send links
)

// Format is the newest format that this build reads.
const Format = formatLinks

// ErrNewerFormat says that a checkpoint was written by a newer build in a format
// that this one can not read. It must not be touched.
var ErrNewerFormat = errors.New("checkpoint: written in a newer format than this build reads")

// Checkpoint is what is known of a chat: how far its journal was applied, the
// conversation's state, and the effects of the last commit.
//
// Two kinds of writes are made of it. The one that ends a record's turn moves
// the cursor and holds state and effects. Every other one keeps cursor and state
// and names its record in During or Tries; that record is run again against it.
type Checkpoint struct {
	// Format is the lowest format whose readers may touch this.
	Format int `json:"format"`
	// Chat is whose this is: a key that is a hash does not tell.
	Chat botmesh.ChatKey `json:"chat"`
	// Fence is the highest fence that wrote here. It is never compared by a write.
	Fence uint64 `json:"fence,omitempty"`
	// Epoch is the journal's; a cursor of another epoch counts as zero. Cursor is
	// the last record that took effect or had none; CursorAt the time it was
	// journaled, by which a journal that went back is noticed.
	Epoch    string    `json:"epoch,omitempty"`
	Cursor   uint64    `json:"cursor,omitempty"`
	CursorAt time.Time `json:"cursor_at,omitzero"`
	// Heard is where the last record is that the chat's user sent, empty if unknown.
	Heard string `json:"heard,omitempty"`

	State []byte `json:"state,omitempty"`
	// By is the incarnation that committed State, empty without one.
	By string `json:"by,omitempty"`
	// Timers are those that are armed, in the order in which they were. A timer record
	// counts only while its timer is here.
	Timers []Armed `json:"timers,omitempty"`

	During *During `json:"during,omitempty"`
	Tries  *Tries  `json:"tries,omitempty"`
	// Claim is the incarnation that last began a run under a turn that its holder
	// had not released.
	Claim *Claim `json:"claim,omitempty"`

	Effects *Effects `json:"effects,omitempty"`
	// Trace is the trace context of the run that left State, nil without either.
	Trace map[string]string `json:"trace,omitempty"`
	// Out is the outbox sequence of the chat's last letter before Effects, zero
	// for none, in the outbox of OutEpoch; in an outbox of another epoch it counts
	// as zero.
	Out      uint64 `json:"out,omitempty"`
	OutEpoch string `json:"out_epoch,omitempty"`

	// Recent are hashes of the ids of records that took effect lately, newest last.
	Recent RecentIDs `json:"recent,omitempty"`

	// Deploy is the number of the deploy that wrote this, zero if deploys are not
	// numbered. A worker of an older deploy leaves it alone.
	Deploy int `json:"deploy,omitempty"`
}

// During is what a run kept before it ended.
type During struct {
	Record uint64 `json:"record"` // the record's sequence in the journal of Epoch
	Epoch  string `json:"epoch"`
	Kept   []byte `json:"kept,omitempty"`
	Eager  int    `json:"eager,omitempty"` // sends already committed
	// User is what the run read of its user, nil if it did not.
	User *User `json:"user,omitempty"`
}

// Tries counts the runs of a record that failed.
type Tries struct {
	Record    uint64    `json:"record"`
	Epoch     string    `json:"epoch"`
	N         int       `json:"n,omitempty"`
	NotBefore time.Time `json:"not_before,omitzero"`
	Error     string    `json:"error,omitempty"`
	// Trace is the trace context of the last one.
	Trace map[string]string `json:"trace,omitempty"`
	// Stranded is since when the record waits for a build that can go on from the state,
	// zero if it does not; Error says what the one that found it can not read.
	Stranded time.Time `json:"stranded,omitzero"`
	// Deaths counts the runs that ended with their process.
	Deaths int `json:"deaths,omitempty"`
}

// Claim names who began a run after an unclean grant.
type Claim struct {
	Incarnation string    `json:"incarnation"`
	At          time.Time `json:"at"`
	// Alone says that nothing else ran in its process: if that died, of this run.
	Alone bool `json:"alone,omitempty"`
}

// Effects are what a commit does outside the checkpoint. They are repeated until
// confirmed: no write replaces a checkpoint whose effects are not.
type Effects struct {
	At     time.Time       `json:"at"`
	Letter *botmesh.Letter `json:"letter,omitempty"`
	Dead   *Dead           `json:"dead,omitempty"`
	// Arm are the ids of timers to arm, each in Timers. Disarm are the ids of those to
	// take back; one that fires all the same is armed no more.
	Arm    []string `json:"arm,omitempty"`
	Disarm []string `json:"disarm,omitempty"`
	// Commands are for the journals of other chats.
	Commands []Command `json:"commands,omitempty"`
	// User changes what is kept of a user.
	User *UserChange `json:"user,omitempty"`
	// A build that does not know an effect must not touch the checkpoint: a new one
	// raises Format.
}

// Command is a command to another chat, under the id of its record.
type Command struct {
	ID    string            `json:"id"`
	Hops  int               `json:"hops"`
	Trace map[string]string `json:"trace,omitempty"`
	botmesh.Command
}

// Armed is a timer under the id of its arming, which no other arming has.
type Armed struct {
	ID string `json:"id"`
	// Trace is the trace context of the run that armed it.
	Trace map[string]string `json:"trace,omitempty"`
	// Set is when it was armed, zero if an older build did.
	Set time.Time `json:"set,omitzero"`
	botmesh.Timer
}

// Dead is a record that was set aside.
type Dead struct {
	Seq   uint64 `json:"seq"`
	Epoch string `json:"epoch"`
	Tries int    `json:"tries,omitempty"`
	Error string `json:"error"`
}

// Encode writes c as a store keeps it.
func (c Checkpoint) Encode() ([]byte, error) {
	c.Format = formatPlain
	if len(c.Timers) > 0 || c.Effects != nil && len(c.Effects.Disarm) > 0 {
		c.Format = formatTimers
	}
	if c.Effects != nil && (len(c.Effects.Commands) > 0 || c.Effects.User != nil) {
		c.Format = formatCommands
	}
	if c.Effects.sends(func(s botmesh.Send) bool { return s.Media != nil }) {
		c.Format = formatMedia
	}
	if c.Effects.sends(botmesh.Send.HasLink) {
		c.Format = formatLinks
	}
	b, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: encode: %w", err)
	}
	return b, nil
}

// sends reports whether something in e, which may be nil, is to be sent that has such a thing.
func (e *Effects) sends(has func(botmesh.Send) bool) bool {
	if e == nil {
		return false
	}
	return e.Letter != nil && slices.ContainsFunc(e.Letter.Parts, func(p botmesh.Part) bool { return has(p.Send) }) ||
		slices.ContainsFunc(e.Commands, func(c Command) bool { return slices.ContainsFunc(c.Sends, has) })
}

// Decode reads what [Checkpoint.Encode] wrote; nothing at all is the zero
// Checkpoint. The error is [ErrNewerFormat] if this build is too old for it.
func Decode(b []byte) (Checkpoint, error) {
	if len(b) == 0 {
		return Checkpoint{}, nil
	}
	var c Checkpoint
	err := json.Unmarshal(b, &c)
	if err != nil {
		// A newer format may give a field another shape: what it says of itself counts.
		var head struct {
			Format int `json:"format"`
		}
		if json.Unmarshal(b, &head) == nil {
			c.Format = head.Format
		}
	}
	switch {
	case c.Format > Format:
		return Checkpoint{}, fmt.Errorf("%w: %d, want at most %d", ErrNewerFormat, c.Format, Format)
	case err != nil:
		return Checkpoint{}, fmt.Errorf("checkpoint: decode: %w", err)
	}
	return c, nil
}
