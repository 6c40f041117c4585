// Package bot is the bot of the lab. What it answers to a free text proves what
// became of every message before; see package chain. Commands and what their flows
// ask are the demo bot's, and one command is the lab's: "/later <duration> <text>"
// sets the chat's one alarm, which says that text, in place of the one that was set.
//
// What belongs here: the bot as the lab's worker runs it.
package bot

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/e2e/lab/bot/chain"
	"github.com/botmesh-go/botmesh/examples/demo"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/worker"
)

// Config configures a Bot. The zero value is usable.
type Config struct {
	// Think bounds how long the bot takes for a free text; how long is random.
	// Zero is no time at all.
	Think time.Duration
	// Logger defaults to discarding.
	Logger *slog.Logger
}

// Bot runs the records of the lab. Safe for concurrent use.
type Bot struct {
	think time.Duration
	demo  *worker.Worker
}

// New makes the bot. The demo bot's /crash is there if the environment allows it.
func New(cfg Config) (*Bot, error) {
	w, err := worker.New(worker.Config{Bot: demo.Bot(), Logger: cfg.Logger})
	if err != nil {
		return nil, fmt.Errorf("lab bot: %w", err)
	}
	return &Bot{think: cfg.Think, demo: w}, nil
}

// Run runs one record: a free text becomes a link of the chain, all else is the
// demo bot's.
func (b *Bot) Run(ctx context.Context, r botmesh.Run, m botmesh.Midway) (botmesh.Outcome, error) {
	chat, err := flow.DecodeChat(r.State)
	if err != nil {
		return botmesh.Outcome{}, fmt.Errorf("lab bot: %w", err)
	}
	if out, ok, err := later(r); ok || err != nil {
		return out, err
	}
	if r.Record.Type != botmesh.TypeMessage || !chain.Links(r.Record.Message.Text, chat.Position != nil) {
		return b.demo.Run(ctx, r, m)
	}
	if b.think > 0 {
		select {
		case <-time.After(mathrand.N(b.think)):
		case <-ctx.Done():
			return botmesh.Outcome{}, context.Cause(ctx)
		}
	}
	return link(chat, r.Record.ID)
}

// alarm is the timer of /later. Its kind is the demo bot's reminder.
const alarm = "remind/later"

// later runs a record if it is /later.
func later(r botmesh.Run) (out botmesh.Outcome, ok bool, err error) {
	args, ok := strings.CutPrefix(r.Record.Message.Text, "/later ")
	if !ok || r.Record.Type != botmesh.TypeMessage {
		return botmesh.Outcome{}, false, nil
	}
	after, text, _ := strings.Cut(args, " ")
	d, err := time.ParseDuration(after)
	if err != nil {
		return botmesh.Outcome{}, true, fmt.Errorf("lab bot: %w", err)
	}
	return botmesh.Outcome{
		State: r.State,
		Sends: []botmesh.Send{{Text: "ok"}},
		Arm:   []botmesh.Timer{{Name: alarm, At: r.Now.Add(d), Data: []byte(text)}},
	}, true, nil
}

// link adds the record id to the chain of a chat.
func link(chat flow.Chat, id string) (botmesh.Outcome, error) {
	c, err := chain.Of(chat)
	if err != nil {
		return botmesh.Outcome{}, err
	}
	c = c.Next(id, rand.Text()[:12])
	if err := c.Keep(&chat); err != nil {
		return botmesh.Outcome{}, err
	}
	out := botmesh.Outcome{}
	if out.State, err = chat.Encode(); err != nil {
		return botmesh.Outcome{}, err
	}
	for _, text := range c.Replies(id) {
		out.Sends = append(out.Sends, botmesh.Send{Text: text})
	}
	return out, nil
}
