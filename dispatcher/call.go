package dispatcher

import (
	"encoding/json"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/telemetry"
)

// Bounds of how long a chat waits for the one replica that can go on with it.
const (
	maxCalls = 2 // of it, for one nudge
	callWait = 250 * time.Millisecond
)

// called is what Delivered is of a nudge that another replica told of.
const called = 0

// Stayer is a [Runner] whose conversations may be of use in one process alone.
type Stayer interface {
	// Stays reports whether a state is best gone on with by the process that committed it.
	Stays(state []byte) bool
}

// call is how one replica tells another of a nudge.
type call struct {
	Chat   string    `json:"chat"` // as it is written: JSON changes what is not UTF-8
	Epoch  string    `json:"epoch"`
	Seq    uint64    `json:"seq"`
	Stored time.Time `json:"stored"`
}

// elsewhere puts a chat off whose conversation another replica has in memory, and tells that
// one of the nudge. It is best effort: the nudge is not that one's to settle and comes again,
// here or elsewhere, and if by then the record was not run it is run all the same. So nothing
// is lost where the call is, or where who was called dies or has no room. Nobody is called
// while the coordinator is away, of which nothing is to be had but a long wait.
func (h *hold) elsewhere() error {
	by, delivered := h.cp.By, h.first.Delivered
	stayer, stays := as[Stayer](h.d.cfg.Runner)
	caller, calls := coord.As[coord.Caller](h.d.cfg.Coordinator)
	switch {
	case !stays || !calls || h.blind() || delivered == called || delivered > maxCalls:
		return nil
	case by == "" || by == h.d.cfg.Coordinator.Incarnation() || !stayer.Stays(h.cp.State):
		return nil
	}
	if alive, err := h.d.cfg.Coordinator.Alive(h.ctx, by); err != nil || !alive {
		return nil
	}
	message, err := json.Marshal(call{h.chat.String(), h.first.Epoch, h.first.Seq, h.first.Stored})
	if err == nil {
		err = caller.Call(h.ctx, by, string(message))
	}
	if err != nil {
		h.d.log.WarnContext(h.ctx, "the replica that has the conversation can not be called", "chat", h.chat, "replica", by, "err", err)
		return nil
	}
	telemetry.Calls.Add(h.ctx, 1)
	return &laterError{time.Now().Add(callWait), "its conversation is in another replica"}
}

// heed takes in the nudges that others tell of.
func (d *Dispatcher) heed() {
	caller, ok := coord.As[coord.Caller](d.cfg.Coordinator)
	if !ok {
		return
	}
	caller.Heed(func(message string) {
		var c call
		if json.Unmarshal([]byte(message), &c) != nil {
			return // of another build
		}
		chat, err := botmesh.ParseChatKey(c.Chat)
		if err != nil || c.Seq == 0 || c.Epoch != d.cfg.Journal.Epoch() {
			return // so is that, or of another journal
		}
		nothing := func() error { return nil }
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.ending {
			return
		}
		d.nudgeLocked(journal.Nudge{
			Chat: chat, Epoch: c.Epoch, Seq: c.Seq, Stored: c.Stored, Delivered: called,
			Ack: nothing, Progress: nothing, Nak: func(time.Duration) error { return nil },
		})
	})
}
