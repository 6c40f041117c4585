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
	HandoverResumed HandoverResult = "resumed" // it went on from its checkpoint
)
