// Package acts keeps what operators do to a bot: a log of their acts, and which chats
// they have paused.
//
// Both are in one stream, BOT_<bot>_ACTS. An act is appended and never changed; it goes
// after [KeepActs]. The pause of a chat is the last message of its subject, replaced by
// compare-and-set, and lasts until somebody resumes the chat: no restart of anything
// ends it.
//
// What belongs here: the log, the pauses and how a process hears of them. What a pause
// stops is the dispatcher's and the outbox's, who may do what the caller's.
package acts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

const (
	// KeepActs is how long an act stays in the log.
	KeepActs = 400 * 24 * time.Hour
	// maxPerSubject is how many acts of one chat are kept.
	maxPerSubject = 1000
	// nobody is the token of acts that are of no chat.
	nobody = "-"
)

// The families of subjects. Behind the family come bot, provider and the chat's token.
const (
	familyAct   = "bot.act"
	familyPause = "bot.pause"
)

// StreamName is the name of the stream that holds what operators did to a bot.
func StreamName(bot string) string { return "BOT_" + bot + "_ACTS" }

// Stream returns the stream that acts and pauses of a bot stand in. Replicas of zero
// are decided when it is made. A pause does not age, an act has its own time to live.
func Stream(bot string, replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              StreamName(bot),
		Description:       "what operators did to bot " + bot,
		Subjects:          []string{familyAct + "." + bot + ".>", familyPause + "." + bot + ".>"},
		Retention:         jetstream.LimitsPolicy,
		Storage:           jetstream.FileStorage,
		Discard:           jetstream.DiscardNew,
		Replicas:          replicas,
		MaxMsgsPerSubject: maxPerSubject,
		DenyDelete:        true,
		AllowDirect:       true,
		AllowMsgTTL:       true,
	}
}

// Act is one thing that an operator did, or was about to do: it is logged before.
type Act struct {
	ID string `json:"id"`
	// Seq is its place in the log, once it was read from there.
	Seq uint64 `json:"-"`
	// At is the server's time of it.
	At time.Time `json:"at,omitzero"`
	// By is who did it, as they said themselves.
	By string `json:"by"`
	// Verb is what was done, in the words of the command line: chats pause.
	Verb string `json:"verb"`
	// Chat is whose it was, nil if no chat's.
	Chat *botmesh.ChatKey `json:"chat,omitempty"`
	// Of is what it was done to, beside the chat: a dead letter, a stream, a lease.
	Of string `json:"of,omitempty"`
	// Before is how that was, After how it was to be. Neither holds what anybody wrote.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	// Failed is the error that it ended with, of an entry that follows one of the same
	// ID. Something of it may have been done: look.
	Failed string `json:"failed,omitempty"`
}

// Config says where acts are kept. All is required.
type Config struct {
	Stream jet.Stream // [StreamName]
	Bot    string
}

func (c Config) validate() error {
	var err error
	if c.Stream == nil {
		err = errors.New("acts: Config.Stream is required")
	}
	if !botmesh.ValidName(c.Bot) {
		err = errors.Join(err, fmt.Errorf("acts: Config.Bot %q does not match [a-z0-9-]{1,32}", c.Bot))
	}
	return err
}

// Log is the log of what operators did. Safe for concurrent use.
type Log struct{ cfg Config }

// NewLog makes no call. It fails if cfg is not whole.
func NewLog(cfg Config) (*Log, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Log{cfg}, nil
}

// Write appends an act and returns it with its ID, a new one if it has none. What an
// operator asks for is done only after that: an act that is not logged is not done.
//
// It is repeated until it is stored or ctx ends. Errors: botmesh.ErrRefused (not
// logged), botmesh.ErrUnknown (may be logged; nothing was done all the same).
func (l *Log) Write(ctx context.Context, a Act) (Act, error) {
	if a.ID == "" {
		a.ID = uuid.NewString()
	}
	data, err := json.Marshal(a)
	if err != nil {
		return a, fmt.Errorf("acts: log %s: %w", a.Verb, err)
	}
	m := jet.Msg{Subject: l.subject(a.Chat), Header: nats.Header{}, Data: data}
	m.Header.Set(nats.MsgIdHdr, a.ID+":"+a.Failed)
	if err := jet.Settle(ctx, func(ctx context.Context) error {
		_, err := l.cfg.Stream.Publish(ctx, jet.Publish{Msg: m, TTL: KeepActs})
		return err
	}); err != nil {
		return a, fmt.Errorf("acts: log %s: %w", a.Verb, err)
	}
	return a, nil
}

// List returns acts in the order they were logged, of one chat, or with a nil chat of
// all and of none. Errors: botmesh.ErrRefused if nobody could answer, or the context's.
func (l *Log) List(ctx context.Context, chat *botmesh.ChatKey, w jet.Window) ([]Act, error) {
	subject := familyAct + "." + l.cfg.Bot + ".>"
	if chat != nil {
		subject = l.subject(chat)
	}
	ms, err := jet.Scan(ctx, l.cfg.Stream, subject, w)
	if err != nil {
		return nil, fmt.Errorf("acts: list: %w", err)
	}
	all := make([]Act, 0, len(ms))
	for _, m := range ms {
		var a Act
		if err := json.Unmarshal(m.Data, &a); err != nil {
			return nil, fmt.Errorf("acts: act %d: %w", m.Seq, err)
		}
		a.Seq, a.At = m.Seq, m.Time
		all = append(all, a)
	}
	return all, nil
}

func (l *Log) subject(chat *botmesh.ChatKey) string {
	if chat == nil {
		return familyAct + "." + l.cfg.Bot + "." + nobody
	}
	return familyAct + "." + l.cfg.Bot + "." + chat.Key()
}
