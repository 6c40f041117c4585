// Package bot is the bot of the lab. What it answers to a free text proves what
// became of every message before; see package chain. Commands and what their flows
// ask are the demo bot's.
//
// What belongs here: the bot as the lab's worker runs it.
package bot

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
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
