package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/admin"
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
	Deliver bool   `help:"Act: put the records into the journal again, each as a new one behind all others. The workers run them and send what the bot says."`
	Yes     bool   `help:"Deliver more than one record."`
	Word    string `help:"With one word a record is delivered once, however often that is asked for; to deliver it again, give another."`
	As      string `help:"Who delivers, for the log of acts; the user and host of this process if not set."`
	Chat    string `arg:"" help:"The chat, as provider/chat or provider/chat/participant."`
}

// Run replays a chat with the bot that this program was built with, or has the workers do it.
func (c journalReplay) Run(ctx context.Context, a *app) (err error) {
	key, err := parseChat(c.Chat)
	if err != nil {
		return err
	}
	if c.Deliver {
		return c.deliver(ctx, a, key)
	}
	if c.Yes || c.Word != "" || c.As != "" {
		return config.Wrong(errors.New("--yes, --word and --as are for --deliver"))
	}
	runner, err := worker.New(worker.Config{Bot: demo.Bot()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runner.Close()) }()
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

// deliver has the workers run the records again. What one record does an operator can
// foresee; for more the range has to be seen first.
func (c journalReplay) deliver(ctx context.Context, a *app, chat botmesh.ChatKey) error {
	body := map[string]any{"from": c.From, "to": c.To, "word": c.Word}
	for name, m := range map[string]replay.Moment{"since": c.Since, "until": c.Until} {
		if !m.IsZero() {
			body[name] = m.Time
		}
	}
	if !c.Yes {
		var would admin.Did
		var is admin.Replayed
		err := a.withDesk(ctx, func(ctx context.Context, d *desk) error {
			return d.ask(ctx, http.MethodPost, chatPath(chat, "/replay"), url.Values{"dry_run": {"1"}}, body, &would)
		})
		if err == nil {
			err = json.Unmarshal(would.After, &is)
		}
		if err != nil {
			return err
		}
		if is.Records > 1 {
			err := c.show(a.stdout, would, func(w io.Writer) error { return writeDid(w, would) })
			return errors.Join(err, config.Wrong(fmt.Errorf("the workers would run %d records of %s again, #%d to #%d, and send what the bot says: say --yes", is.Records, chat, is.First, is.Last)))
		}
	}
	return acting{output: c.output, As: c.As}.act(ctx, a, chatPath(chat, "/replay"), body)
}
