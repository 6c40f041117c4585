package dispatcher

import (
	"cmp"
	"slices"
	"time"
)

// Phase is what a lane does. It is a word of /statusz.
type Phase string

// The phases of a lane.
const (
	PhaseOpen       Phase = "open"       // looking at the checkpoint
	PhaseWaiting    Phase = "waiting"    // has a ticket, waits for the turn
	PhaseHolding    Phase = "holding"    // has the turn, reads and commits
	PhaseQueued     Phase = "queued"     // has the turn, waits for a run that is to be alone in this process
	PhaseRunning    Phase = "running"    // the bot handles a record
	PhaseBackoff    Phase = "backoff"    // has the turn, waits to try a record again
	PhaseDelivering Phase = "delivering" // has the turn, waits for receipts
)

// Status is what a dispatcher does at a moment.
type Status struct {
	Replica     string       `json:"replica"`
	Incarnation string       `json:"incarnation"`
	Draining    bool         `json:"draining"`
	SlotsUsed   int          `json:"slots_used"`
	Slots       int          `json:"slots"`
	Lanes       []LaneStatus `json:"lanes"`
	// Parked are the chats that wait for another build, as far as this replica has met them.
	Parked []ParkedChat `json:"parked,omitempty"`
}

// ParkedChat is a chat that only another build can serve.
type ParkedChat struct {
	Chat  string    `json:"chat"`
	Since time.Time `json:"since"` // when it was met first, where that is noted by any replica
	Why   string    `json:"why"`
}

// LaneStatus is what a lane does at a moment.
type LaneStatus struct {
	Chat   string    `json:"chat"`
	Phase  Phase     `json:"phase"`
	Since  time.Time `json:"since"`
	Fence  uint64    `json:"fence,omitempty"` // of the turn it holds
	Nudges int       `json:"nudges"`
}

// Status returns what the dispatcher does now, lanes sorted by chat.
func (d *Dispatcher) Status() Status {
	s := Status{
		Replica:     d.cfg.Coordinator.Replica(),
		Incarnation: d.cfg.Coordinator.Incarnation(),
		Draining:    d.draining(),
		Lanes:       []LaneStatus{},
	}
	s.SlotsUsed, s.Slots = d.slots.count()
	for _, l := range d.open() {
		s.Lanes = append(s.Lanes, l.status())
	}
	s.Parked = d.parking.status()
	slices.SortFunc(s.Lanes, func(a, b LaneStatus) int { return cmp.Compare(a.Chat, b.Chat) })
	return s
}

func (l *lane) status() LaneStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	return LaneStatus{Chat: l.chat.String(), Phase: l.phase, Since: l.since, Fence: l.fence, Nudges: len(l.nudges)}
}
