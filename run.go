package botmesh

import (
	"context"
	"encoding/json"
	"time"
)

// Run is what a worker hands to a bot: one record of a chat, and the chat's
// state as the last commit left it.
//
// The same record may be run several times, on this replica or another: a run
// that does not end leaves nothing but what it kept. Before its commit nothing
// of a run is visible but its eager sends; after it, nothing runs again.
type Run struct {
	Record Record
	// State is the conversation's state, as the last Outcome gave it; nil at first.
	State []byte
	// Kept is what earlier tries of this very record kept, nil if nothing.
	Kept []byte
	// Also are the messages that interrupted earlier runs of this record, in order: what
	// is decided now is decided for all of them. See [Meanwhile].
	Also []Record
	// From is the incarnation that committed State, if that was another than this
	// process: the conversation has moved here since.
	From string
	// Timer is the timer that fired, if the record is one of TypeTimer.
	Timer Timer
	// Try counts the runs of this record that failed, plus one.
	Try int
	// Fence grows each time the chat changes hands; for locks, logs and outside
	// resources.
	Fence uint64
	// Now is the time of this run. A bot that decides by time uses it.
	Now time.Time
	// Open reads files of this chat's messages. It is nil where there is no platform to
	// read from, as in a replay.
	Open OpenFile
}

// Outcome is what a run decided. It is committed whole, by one compare-and-set,
// or not at all.
type Outcome struct {
	// State is the conversation's state from now on; nil when the chat has none.
	State []byte
	// Sends are the messages to send, in order.
	Sends []Send
	// Arm are timers to set, Disarm the names of timers that are to fire no more. One
	// of a name that is armed is disarmed first. A timer that fired is armed no more.
	Arm    []Timer
	Disarm []string
	// Through is the sequence of the last record that [Meanwhile.Next] gave and this
	// outcome has dealt with, those before it included; zero if there is none.
	Through uint64
	// Commands are what the run asks of other chats, in order, at most [MaxCommands].
	Commands []Command
	// User changes what is kept of the record's user: fields by name, a nil one is
	// removed. Fields that are not named stay. See [Midway.User].
	User map[string]json.RawMessage
	// Handover says what became of the conversation that another process had, nil if
	// none was handed over. Flow and Result are looked at. See [Run.From].
	Handover *Handover
	// Ignored says that the record had no effect. Nothing else is looked at; the chat
	// moves on past the record with its next commit.
	Ignored bool
}

// Bounds of commands.
const (
	MaxCommands = 64 // of one run
	MaxHops     = 8  // commands that lead from one to the next, against loops
)

// Command asks for messages to be sent in a chat. It becomes a record of TypeCommand in
// that chat's journal, once, and takes effect there in order with its messages and
// under its turn. Where a chat goes on because of another is counted in Record.Hops; a
// run that would be one command too many fails.
type Command struct {
	Chat  ChatKey `json:"chat"`
	Sends []Send  `json:"sends"`
}

// Bounds of what is kept of a user.
const (
	MaxUser     = 64 << 10 // bytes, encoded
	MaxUserName = 100      // bytes of a field's name
)

// Bounds of timers.
const (
	MaxTimers    = 64      // armed at once in a chat
	MaxTimerData = 4 << 10 // bytes of Timer.Data
	MaxTimerName = 100     // bytes of Timer.Name
)

// Timer is something that a chat is to be woken for. It fires once, on whichever
// replica is alive then, as a record of TypeTimer in the chat's journal: in order with
// its messages and under its turn. It fires at At or up to a second later, or at once
// if At has passed; later if nobody is there to run it.
type Timer struct {
	// Name is the bot's own name for it; of a chat's armed timers each has another.
	Name string    `json:"name"`
	At   time.Time `json:"at"`
	// Data comes back when it fires.
	Data []byte `json:"data,omitempty"`
}

// Midway is what a run may do before it ends. Each call is a commit of its own
// that keeps the record unapplied: if the run does not end, the record is run
// again against it. An error ends the run; it is [ErrLeaseLost] if another
// replica took the chat.
type Midway interface {
	// Keep stores what the run must not do or ask again: an answer, the result of a
	// side effect. It replaces what was kept, and comes back in Run.Kept.
	Keep(ctx context.Context, kept []byte) error
	// SendNow sends a message before the run ends ("one moment…"). A repeated run
	// skips as many SendNow calls as were committed before, whatever their text.
	SendNow(ctx context.Context, s Send) error
	// User reads what is kept of the user who sent the record, in whichever of their
	// chats with this account it was left: fields by name, none if it is a record of no
	// user. It is read once, however often it is asked for; a repeated run of a record of
	// which something was kept or sent sees what that run saw.
	User(ctx context.Context) (map[string]json.RawMessage, error)
}

// Outside is what a [Midway] may be too: it says whether the run may do something outside
// Botmesh. A run that is only compared with an earlier one may not.
type Outside interface {
	// MayDo is asked before something is done of which no result is kept, by the name it
	// has in its handler. The error ends the run.
	MayDo(name string) error
}

// Settler is what a [Midway] may be too: a run tells it how long it may take.
type Settler interface {
	// Settle bounds the run, counted from its beginning, in place of the worker's Settle;
	// zero stands for that one. Said more than once, the longest counts. A run that has
	// taken longer by then is cut off at once. It does not wait.
	Settle(d time.Duration)
}

// MaxSettle bounds what a flow or handler may say of how long its runs take: for as long
// the chat's next messages wait, and a worker that is asked to stop does not.
const MaxSettle = 30 * time.Minute
