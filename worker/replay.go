package worker

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/program"
	"github.com/botmesh-go/botmesh/internal/replay"
	"github.com/botmesh-go/botmesh/internal/workerd"
	"github.com/botmesh-go/botmesh/provider"
)

const (
	replayWay  = "replay [--from seq] [--to seq] [--since time] [--until time] [-o json] [settings] provider/chat"
	againstWay = "replay --against [--limit chats] [-o json] [settings] [provider/chat ...]"
	rebuildWay = "rebuild [--dry-run] [--partial] [--as name] [-o json] [settings] provider/chat"

	replayUsage  = "want: " + replayWay + ", or " + againstWay
	rebuildUsage = "want: " + rebuildWay
)

const (
	// replayTime and rebuildTime bound a whole command: the wait for the servers, and the runs.
	replayTime  = time.Hour
	rebuildTime = 10 * time.Minute
)

// replays are the commands that run the records of a chat again.
type replays struct {
	program program.Program
	bot     *bot.Bot
	own     []provider.Sender
	stdout  io.Writer
}

// replay shows what the bot would say now to the records of a chat, or compares that with
// what chats were answered.
func (r replays) replay(args []string) error {
	var in replay.Range
	var c comparison
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	ranged(flags, &in)
	c.flags(flags)
	return r.open(flags, replayUsage, args, replayTime, func(ctx context.Context, open opener, named []botmesh.ChatKey) error {
		switch {
		case c.against && in != replay.Range{}, !c.against && c.limit != compareChats, !c.against && len(named) != 1:
			return config.Wrong(errors.New(replayUsage))
		case c.against:
			err := r.compare(ctx, open, c, named)
			if err != nil && !errors.Is(err, errDiffers) {
				err = config.Wrong(err)
			}
			return err
		}
		w, err := open(config.Config.CheckSenders) // which cuts nothing for a platform, and needs no token
		if err != nil {
			return err
		}
		var steps []replay.Step
		n, err := w.Replay(ctx, named[0], in, func(s replay.Step) error {
			if *c.output == "json" {
				steps = append(steps, s)
				return nil
			}
			_, err := io.WriteString(r.stdout, s.String()) // at once: a record may take its time
			return err
		})
		switch {
		case err != nil:
			return err
		case *c.output == "json":
			return r.json(steps)
		}
		_, err = fmt.Fprintf(r.stdout, "%v; nothing was sent or written\n", n)
		return err
	})
}

// ranged are the flags that choose records of a chat.
func ranged(flags *flag.FlagSet, in *replay.Range) {
	flags.Uint64Var(&in.From, "from", 0, "")
	flags.Uint64Var(&in.To, "to", 0, "")
	moment := func(of *time.Time) func(string) error {
		return func(text string) error {
			var m replay.Moment
			err := m.UnmarshalText([]byte(text))
			*of = m.Time
			return err
		}
	}
	flags.Func("since", "", moment(&in.Since))
	flags.Func("until", "", moment(&in.Until))
}

// rebuild writes a chat's lost checkpoint anew, and tells what came of it.
func (r replays) rebuild(args []string) error {
	var o replay.Order
	flags := flag.NewFlagSet("rebuild", flag.ContinueOnError)
	flags.BoolVar(&o.Dry, "dry-run", false, "")
	flags.BoolVar(&o.Partial, "partial", false, "")
	by := flags.String("as", program.Operator(), "")
	output := shownAs(flags)
	return r.open(flags, rebuildUsage, args, rebuildTime, func(ctx context.Context, open opener, named []botmesh.ChatKey) error {
		if len(named) != 1 {
			return config.Wrong(errors.New(rebuildUsage))
		}
		w, err := open(r.program.Check)
		if err != nil {
			return err
		}
		o.Chat = named[0]
		is, err := w.Rebuild(ctx, *by, o)
		if err != nil {
			return advised(err)
		}
		if *output == "json" {
			return r.json(is)
		}
		return told(r.stdout, o, is)
	})
}

// opener makes the worker of a command, which serves nothing, if check finds nothing that
// the settings lack.
type opener func(check func(config.Config) error) (*workerd.Worker, error)

// open reads what a command is asked for, the chats that it names included, and calls do.
func (r replays) open(flags *flag.FlagSet, usage string, args []string, limit time.Duration,
	do func(context.Context, opener, []botmesh.ChatKey) error) error {
	p := r.program
	p.Check = nil // the command says
	loaded, err := p.Load(args)
	if err != nil {
		return err
	}
	flags.SetOutput(io.Discard)
	if err := flags.Parse(loaded.Rest); err != nil {
		return config.Wrong(errors.Join(err, errors.New(usage)))
	}
	var named []botmesh.ChatKey
	for _, text := range flags.Args() {
		chat, err := botmesh.ParseChatKey(text)
		if err != nil {
			return config.Wrong(errors.Join(err, errors.New(usage)))
		}
		named = append(named, chat)
	}
	log := program.Logger(os.Stderr, loaded.Log)
	engine.LogRedis(log)
	runner, err := New(Config{Bot: r.bot, Handover: handover(loaded.Handover), StaleAfter: loaded.StaleAfter, Logger: log})
	if err != nil {
		return config.Wrong(err)
	}
	ctx, stop := context.WithTimeoutCause(context.Background(), limit, fmt.Errorf("not done within %v", limit))
	defer stop()
	ctx, ignore := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer ignore()
	err = do(ctx, func(check func(config.Config) error) (*workerd.Worker, error) {
		if err := check(loaded.Config); err != nil {
			return nil, config.Wrong(err)
		}
		return workerd.New(ctx, workerd.Config{Settings: loaded.Config, Runner: runner, Senders: r.own, Version: program.Version(), Log: log})
	}, named)
	err = errors.Join(err, runner.Close())
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}

// advised adds to an error what to do about it.
func advised(err error) error {
	switch {
	case errors.Is(err, replay.ErrPartial):
		return fmt.Errorf("%w; to go on from what there is, say --partial", err)
	case errors.Is(err, replay.ErrExists):
		return fmt.Errorf("%w: there is nothing to rebuild", err)
	case errors.Is(err, botmesh.ErrUnknown):
		return fmt.Errorf("%w; it may be done: say the same again, to see", err)
	}
	return err
}

func told(w io.Writer, o replay.Order, is replay.Rebuilt) error {
	done, dry := fmt.Sprintf("rebuilt at revision %d", is.Revision), ""
	if o.Dry {
		done, dry = "would be rebuilt", "; nothing was written"
	}
	where := "no conversation waits"
	if is.Waits {
		where = "a conversation waits"
	}
	since := ""
	if is.Records > 0 {
		since = " since " + is.Since.UTC().Format(time.RFC3339)
	}
	_, err := fmt.Fprintf(w, "%s: %s from %d records%s, the last is #%d; %s, %d timers are armed, %d records are left to the workers%s\n",
		o.Chat, done, is.Records, since, is.Cursor, where, is.Timers, is.Left, dry)
	return err
}
