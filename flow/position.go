package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
)

// chatVersion is the newest version of an encoded Chat that this build reads, and
// the one it writes.
const chatVersion = 1

// ErrStranded says that a conversation waits at a place where this build can not
// go on: its flow or step is gone, or its state can not be decoded. The position
// stays as it is and the record waits, so that a build that knows it goes on. It is
// [botmesh.ErrStranded].
var ErrStranded = botmesh.ErrStranded

// Position is where a conversation stands: the step whose question is open, and
// the state so far.
type Position struct {
	Flow  string          `json:"flow"`
	Step  string          `json:"step"`
	State json.RawMessage `json:"state"`
	// Heard and Done are the answers and results that a script step has so far; it
	// runs again with them from the state, which is that of its beginning.
	Heard []Heard                    `json:"heard,omitempty"`
	Done  map[string]json.RawMessage `json:"done,omitempty"`
	// In is where the flow stands that the step has called.
	In *Position `json:"in,omitempty"`
	// Asked is the sequence of the record that led to the question. It marks the
	// question's buttons, so that those of an earlier question are told apart.
	Asked uint64 `json:"asked,omitempty"`
	// Due is when the question has been open for too long, zero if it never has.
	Due time.Time `json:"due,omitzero"`
	// Tries counts the answers in a row that were not understood, or rejected.
	Tries int `json:"tries,omitempty"`
	// Wait and Shape are the fingerprints of the step and of the whole flow when
	// the question was asked: by them a later build sees what has changed.
	Wait  string `json:"wait"`
	Shape string `json:"shape"`
	// Brief is nil while the flow is kept.
	Brief *Brief `json:"brief,omitempty"`
	// Live tells which live conversation waits, if it is one; see [NewLive].
	Live *Waiting `json:"live,omitempty"`
	// Trail are the positions of the questions before, for [Definition.Back].
	Trail []Position `json:"trail,omitempty"`
}

// Heard is an answer within a script step.
type Heard struct {
	Ask   string          `json:"ask"`  // the question's name
	Kind  string          `json:"kind"` // the fingerprint of its kind of answer
	Value json.RawMessage `json:"value"`
}

// Open is the position of the flow whose question is open: p, or in what p called.
func (p *Position) Open() *Position {
	for p != nil && p.In != nil {
		p = p.In
	}
	return p
}

// Chat is what is kept of one chat between its turns. Encoded, it is the State of
// botmesh.Run and botmesh.Outcome.
type Chat struct {
	// Position is nil while no flow waits.
	Position *Position
	// Values belong to plain handlers, by name.
	Values map[string]json.RawMessage
	// Locale is the language of the user, as a BCP 47 tag, where the bot has several.
	Locale string
	// Human says that people have the user's messages, and not the bot.
	Human bool
}

type encodedChat struct {
	Version  int                        `json:"v"`
	Position *Position                  `json:"position,omitempty"`
	Values   map[string]json.RawMessage `json:"values,omitempty"`
	Locale   string                     `json:"locale,omitempty"`
	Human    bool                       `json:"human,omitempty"`
}

// Encode writes c, the same bytes for the same content; nil if there is nothing
// to keep.
func (c Chat) Encode() ([]byte, error) {
	if c.Position == nil && len(c.Values) == 0 && c.Locale == "" && !c.Human {
		return nil, nil
	}
	b, err := json.Marshal(encodedChat{chatVersion, c.Position, c.Values, c.Locale, c.Human})
	if err != nil {
		return nil, fmt.Errorf("flow: encoding a chat: %w", err)
	}
	return b, nil
}

// DecodeChat reads what [Chat.Encode] wrote; nothing at all is the zero Chat. The error
// is [ErrStranded].
func DecodeChat(b []byte) (Chat, error) {
	if len(b) == 0 {
		return Chat{}, nil
	}
	var e encodedChat
	if err := json.Unmarshal(b, &e); err != nil {
		return Chat{}, fmt.Errorf("%w: decoding it: %w", ErrStranded, Unread(err))
	}
	if e.Version < 1 || e.Version > chatVersion {
		return Chat{}, fmt.Errorf("%w: it has version %d, want 1 to %d", ErrStranded, e.Version, chatVersion)
	}
	return Chat{e.Position, e.Values, e.Locale, e.Human}, nil
}

// Unread is why a kept value could not be read, without anything of the value, which may
// be the user's. It is for those who run bots.
func Unread(err error) error {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind, _, _ := strings.Cut(t.Value, " ") // of a number the number follows
		what := "it"
		if t.Field != "" {
			what = "field " + t.Field
		}
		return fmt.Errorf("%s is of kind %s, want %s", what, kind, t.Type)
	}
	return fmt.Errorf("%T", err)
}

// Buttons of a question carry "~<asked>:<value>", asked in base 36.
const mark = '~'

func markButtons(rows [][]botmesh.Button, asked uint64) [][]botmesh.Button {
	marked := make([][]botmesh.Button, len(rows))
	for i, row := range rows {
		marked[i] = make([]botmesh.Button, len(row))
		for j, b := range row {
			b.Payload = string(mark) + strconv.FormatUint(asked, 36) + ":" + b.Payload
			marked[i][j] = b
		}
	}
	return marked
}

// unmark splits a marked payload; ok is false if it carries no mark.
func unmark(payload string) (asked uint64, value string, ok bool) {
	if payload == "" || payload[0] != mark {
		return 0, payload, false
	}
	head, value, found := strings.Cut(payload[1:], ":")
	asked, err := strconv.ParseUint(head, 36, 64)
	if !found || err != nil {
		return 0, payload, false
	}
	return asked, value, true
}

// Stale reports whether r is the press of a button whose question is no longer
// open, p being the chat's position or nil.
func (p *Position) Stale(r botmesh.Record) bool {
	if r.Type != botmesh.TypeCallback {
		return false
	}
	asked, _, ok := unmark(r.Message.Payload)
	return ok && (p == nil || p.Open().Asked != asked)
}
