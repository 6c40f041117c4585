package main

import (
	"context"
	"fmt"
	"io"

	"github.com/botmesh-go/botmesh/examples/demo"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/replay"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/worker"
)

type journalReplay struct {
	output
	Chat string `arg:"" help:"The chat, as provider/chat or provider/chat/participant."`
}

// Run replays a chat with the bot that this program was built with.
func (c journalReplay) Run(ctx context.Context, a *app) error {
	key, err := parseChat(c.Chat)
	if err != nil {
		return err
	}
	runner, err := worker.New(worker.Config{Bot: demo.Bot()})
	if err != nil {
		return err
	}
	return a.withJournal(ctx, func(ctx context.Context, j *journal.Journal, s config.Config) error {
		chat := replay.New(replay.Config{Runner: runner, Tries: s.Tries, Settle: s.Settle})
		var steps []replay.Step
		err := replay.Each(ctx, j, key, func(e journal.Entry) error {
			step, err := chat.Next(ctx, e)
			if err != nil {
				return err
			}
			steps = append(steps, step)
			if c.Output == "text" {
				_, err = io.WriteString(a.stdout, step.String()) // at once: a record may take its time
				return err
			}
			return nil
		})
		if err != nil {
			return err
		}
		if len(steps) == 0 {
			return noRecords(key)
		}
		return c.show(a.stdout, steps, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "replayed %d records with the demo bot; nothing was sent or written. Your own bot: <its program> replay %s\n", len(steps), key)
			return err
		})
	})
}
