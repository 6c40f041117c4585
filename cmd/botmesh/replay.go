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

// inRange chooses records of a chat by their place and time.
type inRange struct {
	From  uint64        `help:"Begin at this sequence."`
	To    uint64        `help:"End with this sequence."`
	Since replay.Moment `help:"Only those stored since this time, such as 2030-01-02T15:04:05Z, or in this last time, such as 1h."`
	Until replay.Moment `help:"Only those stored up to this time, in the same words."`
}

func (r inRange) is() replay.Range {
	return replay.Range{From: r.From, To: r.To, Since: r.Since.Time, Until: r.Until.Time}
}

type journalReplay struct {
	output
	inRange
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
		var steps []replay.Step
		n, err := replay.Dry(ctx, replay.Config{Runner: runner, Tries: s.Tries, Settle: s.Settle}, j, key, c.is(), func(step replay.Step) error {
			steps = append(steps, step)
			if c.Output == "text" {
				_, err := io.WriteString(a.stdout, step.String()) // at once: a record may take its time
				return err
			}
			return nil
		})
		if err != nil {
			return err
		}
		return c.show(a.stdout, steps, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%v with the demo bot; nothing was sent or written. Your own bot: <its program> replay %s\n", n, key)
			return err
		})
	})
}
