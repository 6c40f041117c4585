package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/examples/demo"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/replay"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/worker"
)

// replayPage is how many records are read at once.
const replayPage = 1000

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
		err := eachOf(ctx, j, key, func(e journal.Entry) error {
			step, err := chat.Next(ctx, e)
			if err != nil {
				return err
			}
			steps = append(steps, step)
			if c.Output == "text" {
				return writeStep(a.stdout, step) // at once: a record may take its time
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
			_, err := fmt.Fprintf(w, "replayed %d records; nothing was sent or written\n", len(steps))
			return err
		})
	})
}

// eachOf calls each for every record of a chat, from the first that is kept.
func eachOf(ctx context.Context, j *journal.Journal, chat botmesh.ChatKey, each func(journal.Entry) error) error {
	for from := uint64(0); ; {
		page, err := j.List(ctx, journal.Filter{Chat: chat, From: from, Limit: replayPage})
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := each(e); err != nil {
				return err
			}
			from = e.Record.Seq + 1
		}
		if len(page) < replayPage {
			return nil
		}
	}
}

func writeStep(w io.Writer, s replay.Step) error {
	var b strings.Builder
	fmt.Fprintf(&b, "#%d  %s", s.Seq, s.Type)
	if s.Result != replay.Applied {
		fmt.Fprintf(&b, "  %s", s.Result)
	}
	if s.Error != "" {
		first, _, _ := strings.Cut(s.Error, "\n")
		fmt.Fprintf(&b, "  after %d tries: %s", s.Tries, first)
	}
	b.WriteByte('\n')
	indent(&b, "    user: ", s.Text)
	for _, send := range s.Sends {
		indent(&b, "    bot:  ", send.Text)
		for _, row := range send.Buttons {
			for _, button := range row {
				fmt.Fprintf(&b, "          [%s]\n", button.Label)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
