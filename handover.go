package botmesh

// Handover says that a conversation which one process had goes on, or not, in another.
type Handover struct {
	Chat ChatKey
	// From is the incarnation that had the conversation, To the one that has it now.
	From, To string
	// Flow is the flow that waited.
	Flow   string
	Result HandoverResult
}

// HandoverResult says what became of a conversation that was handed over.
type HandoverResult string

// The results of a hand-over.
const (
	HandoverResumed   HandoverResult = "resumed"   // it is kept, and went on
	HandoverForwarded HandoverResult = "forwarded" // it is not kept, and went on all the same
	HandoverNotified  HandoverResult = "notified"  // it could not, and the user was told
	HandoverRestarted HandoverResult = "restarted" // it could not, and began anew
	HandoverCustom    HandoverResult = "custom"    // it could not, and the bot's author decided
	HandoverDropped   HandoverResult = "dropped"   // it could not, and was forgotten
)

// TurnLost says that a replica lost its turn of a chat, or cut a run of it off. Nothing of
// what was not committed by then has an effect; the record is run again, there or elsewhere.
type TurnLost struct {
	Chat   ChatKey
	Fence  uint64 // of the turn
	Reason LossReason
}
