package worker

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/program"
	"github.com/botmesh-go/botmesh/internal/replay"
	"github.com/botmesh-go/botmesh/internal/workerd"
	"github.com/botmesh-go/botmesh/provider"
)

const rebuildUsage = "want: rebuild [--dry-run] [--partial] [--as name] [settings] provider/chat"

// rebuildTime bounds how long the servers are waited for.
const rebuildTime = 30 * time.Second

// rebuild writes a chat's lost checkpoint anew, and tells what came of it.
func rebuild(p program.Program, b *bot.Bot, own []provider.Sender, args []string, stdout io.Writer) error {
	loaded, err := p.Load(args)
	if err != nil {
		return err
	}
	var o replay.Order
	flags := flag.NewFlagSet("rebuild", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVar(&o.Dry, "dry-run", false, "")
	flags.BoolVar(&o.Partial, "partial", false, "")
	by := flags.String("as", "who runs "+p.Name, "")
	if err := flags.Parse(loaded.Rest); err != nil || flags.NArg() != 1 {
		return config.Wrong(errors.Join(err, errors.New(rebuildUsage)))
	}
	if o.Chat, err = botmesh.ParseChatKey(flags.Arg(0)); err != nil {
		return config.Wrong(err)
	}
	log := program.Logger(os.Stderr, loaded.Log)
	runner, err := New(Config{Bot: b, Logger: log})
	if err != nil {
		return config.Wrong(err)
	}
	ctx, stop := context.WithTimeoutCause(context.Background(), rebuildTime, errors.New("the servers did not answer in time"))
	defer stop()
	loaded.Streams = "trust" // what is not there now is not to be made
	w, err := workerd.New(ctx, workerd.Config{Settings: loaded.Config, Runner: runner, Senders: own, Version: program.Version(), Log: log})
	if err != nil {
		return err
	}
	is, err := w.Rebuild(ctx, *by, o)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return errors.Join(advised(err), told(stdout, o, is, err))
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

func told(w io.Writer, o replay.Order, is replay.Rebuilt, failed error) error {
	if failed != nil {
		return nil
	}
	done := fmt.Sprintf("rebuilt at revision %d", is.Revision)
	if o.Dry {
		done = "would be rebuilt, nothing was written"
	}
	where := "no conversation waits"
	if is.Waits {
		where = "a conversation waits"
	}
	_, err := fmt.Fprintf(w, "%s: %s from %d records, the last is #%d; %s, %d timers are armed, %d records are left to the workers\n",
		o.Chat, done, is.Records, is.Cursor, where, is.Timers, is.Left)
	return err
}
