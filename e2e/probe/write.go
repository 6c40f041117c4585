package probe

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/internal/jet"
)

const (
	nonceHeader = "Bot-Nonce"
	idHeader    = "Bot-Id"
	typeHeader  = "Bot-Type"
)

const (
	before = ".before"
	after  = ".after"
)

// write says what a publish is, as an event and as the name of its crash points. The
// event has no kind if it is none that matters.
func (p *Probe) write(m jet.Publish) (e history.Event, point string) {
	e.Expect = m.Expect
	for _, w := range []struct {
		family string
		read   func(history.Event, jet.Publish) (history.Event, string)
	}{{records, record}, {timers, arm}, {letters, letter}, {entries, chain}, {deadLetters, dead}, {checkpoints, p.commit}} {
		if e.Chat = chatOf(m.Subject, w.family); e.Chat != "" {
			return w.read(e, m)
		}
	}
	return history.Event{}, ""
}

func record(e history.Event, m jet.Publish) (history.Event, string) {
	// The id stands behind bot and provider.
	parts := strings.SplitN(m.Header.Get(nats.MsgIdHdr), ":", 3)
	e.Kind, e.ID = history.Publish, parts[len(parts)-1]
	if m.Header.Get(typeHeader) == string(botmesh.TypeCommand) {
		return e, "order"
	}
	return e, "publish"
}

func arm(e history.Event, m jet.Publish) (history.Event, string) {
	e.Chat, e.ID = endOf(e.Chat)
	e.Kind = history.Arm
	return e, "arm"
}

func letter(e history.Event, m jet.Publish) (history.Event, string) {
	e.Kind, e.ID = history.Letter, m.Header.Get(idHeader)
	if place := strings.LastIndex(e.ID, "/e"); place > strings.LastIndex(e.ID, ".") {
		return e, "eager"
	}
	return e, "letter"
}

func chain(e history.Event, m jet.Publish) (history.Event, string) {
	var entry struct {
		ID      string           `json:"id"`
		By      string           `json:"by"`
		Kind    string           `json:"kind"`
		Free    bool             `json:"free"`
		Receipt *botmesh.Receipt `json:"receipt"`
	}
	_ = json.Unmarshal(m.Data, &entry) // one that can not be read has no kind
	e.Kind, e.ID, e.By, e.Entry, e.Free = history.Chain, entry.ID, entry.By, entry.Kind, entry.Free
	if entry.Receipt != nil {
		e.Part = entry.Receipt.Part
	}
	if entry.Kind == "retry" {
		return e, "putoff"
	}
	return e, entry.Kind
}

// dead takes the end of the subject, which names the record or part, for the id.
func dead(e history.Event, m jet.Publish) (history.Event, string) {
	e.Chat, e.ID = endOf(e.Chat)
	e.Kind = history.Dead
	return e, "dead"
}

// endOf cuts the end off what follows a family's name and bot in a subject.
func endOf(s string) (key, end string) {
	i := strings.LastIndexByte(s, '.')
	return s[:i], s[i+1:]
}

func (p *Probe) commit(e history.Event, m jet.Publish) (history.Event, string) {
	cp, err := checkpoint.Decode(m.Data)
	if err != nil {
		e.Error = brief(err)
	}
	p.mu.Lock()
	last := p.chats[e.Chat]
	p.mu.Unlock()
	e.Kind, e.ID = history.Commit, m.Header.Get(nonceHeader)
	e.Fence, e.Cursor, e.Entry = cp.Fence, cp.Cursor, sortOf(last, cp)
	return e, e.Entry
}

// sortOf says what sort of write replaces one checkpoint by another, in the words
// of the crash points.
func sortOf(last, next checkpoint.Checkpoint) string {
	var was, is checkpoint.Tries
	if last.Tries != nil {
		was = *last.Tries
	}
	if next.Tries != nil {
		is = *next.Tries
	}
	switch {
	case next.Effects != nil && next.Effects.Dead != nil:
		return "aside"
	case next.Cursor > last.Cursor && next.Effects == nil && bytes.Equal(next.State, last.State) && !learned(last, next):
		return "cursor"
	case next.Cursor > last.Cursor:
		return "commit"
	case next.Effects != nil:
		return "midway"
	case is.N > was.N || is.N > 0 && is.Record != was.Record:
		return "try"
	case next.Claim != nil && (last.Claim == nil || *next.Claim != *last.Claim):
		return "mark"
	}
	return "midway"
}

// learned says whether next knows the id of a record that last did not. One that it
// knew already moves to the end of them.
func learned(last, next checkpoint.Checkpoint) bool {
	return slices.ContainsFunc(next.Recent, func(id uint64) bool { return !slices.Contains(last.Recent, id) })
}

// wrote takes in what a write that was done left behind.
func (p *Probe) wrote(e history.Event, m jet.Publish) {
	if e.Kind == history.Commit {
		p.learn(e.Chat, m.Data)
	}
}

// learn takes in a chat's checkpoint.
func (p *Probe) learn(key string, value []byte) {
	cp, err := checkpoint.Decode(value)
	if err != nil {
		return // the program says so itself
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.chats[key] = cp
}
