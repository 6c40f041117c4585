package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/flow"
)

// Place is where a chat's conversation waits for an answer of its user. Names are those of
// the bot's code; nothing of what was said is in it.
type Place struct {
	Flow string `json:"flow"`
	// Step is empty of a live conversation, which has none.
	Step string `json:"step,omitempty"`
	// Asked is the record that led to the question. Of a flow that has called another it is
	// the one that led to the call.
	Asked uint64 `json:"asked,omitempty"`
	// Answers counts those that a script has within its step.
	Answers int `json:"answers,omitempty"`
	// Tries counts the answers in a row that were not understood, or rejected.
	Tries int `json:"tries,omitempty"`
	// Due is when the question has been open for too long, zero if it never has.
	Due time.Time `json:"due,omitzero"`
	// Lives is the incarnation in whose memory the conversation is, empty if it is kept or
	// may go on at another one.
	Lives string `json:"lives,omitempty"`
	// Gone says that Lives gives no sign of life.
	Gone bool `json:"gone,omitempty"`
	// Lost says that another process had the chat, and the conversation can not go on.
	Lost bool `json:"lost,omitempty"`
	// In is where the flow waits that the step has called.
	In *Place `json:"in,omitempty"`
}

// String is the way to the question, as in "order/pay, address/street".
func (p *Place) String() string {
	var way []string
	for ; p != nil; p = p.In {
		at := p.Flow
		if p.Step != "" {
			at += "/" + p.Step
		}
		way = append(way, at)
	}
	return strings.Join(way, ", ")
}

// Open is the place whose question is open: p, or one in what p called.
func (p *Place) Open() *Place {
	for p.In != nil {
		p = p.In
	}
	return p
}

// Describe is what an operator would say of the place, in one line.
func (p *Place) Describe() string {
	open := p.Open()
	said := fmt.Sprintf("%s, asked with record %d", p, open.Asked)
	if open.Answers > 0 {
		said += fmt.Sprintf(", after %s in that step", count(open.Answers, "1 answer", "%d answers"))
	}
	if open.Tries > 0 {
		said += fmt.Sprintf(", %s not understood", count(open.Tries, "1 answer was", "%d answers were"))
	}
	if !open.Due.IsZero() {
		said += ", until " + open.Due.UTC().Format(time.RFC3339)
	}
	switch {
	case p.Lost:
		said += "; it is lost: the next message is answered as the bot's Handover says"
	case p.Gone:
		said += "; it is lost with " + p.Lives + ", which gives no sign of life: the next message is answered as the bot's Handover says"
	case p.Lives != "":
		said += "; it is in the memory of " + p.Lives + " alone"
	}
	return said
}

// placeOf is where the conversation of a checkpoint waits, nil if none does, and whether
// people have its messages. A state that this build does not read says neither.
func (rooms *Rooms) placeOf(ctx context.Context, cp checkpoint.Checkpoint) (at *Place, human bool) {
	chat, err := flow.DecodeChat(cp.State)
	if err != nil || chat.Position == nil {
		return nil, chat.Human
	}
	place := place(chat.Position)
	if brief := chat.Position.Brief; brief != nil {
		place.Lost = brief.Lost
		if !brief.Lost && !brief.Forward {
			place.Lives = cp.By
			place.Gone = rooms.gone(ctx, cp.By)
		}
	}
	return place, chat.Human
}

// gone reports whether an incarnation is known to give no sign of life.
func (rooms *Rooms) gone(ctx context.Context, incarnation string) bool {
	if rooms.Turns == nil || incarnation == "" {
		return false
	}
	alive, err := rooms.Turns.Alive(ctx, incarnation)
	return err == nil && !alive
}

func place(p *flow.Position) *Place {
	if p == nil {
		return nil
	}
	return &Place{Flow: p.Flow, Step: p.Step, Asked: p.Asked, Answers: len(p.Heard), Tries: p.Tries, Due: p.Due, In: place(p.In)}
}
