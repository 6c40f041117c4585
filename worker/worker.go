package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
)

// Config is what a Worker needs.
type Config struct {
	// Bot is what is run. Required, and valid; nothing is registered with it any more.
	Bot *bot.Bot
	// Handover is for a bot that does not call [bot.Bot.Handover]. Defaults to that of a bot
	// which says nothing.
	Handover bot.Handover
	// StaleAfter is for a bot that calls neither [bot.Bot.Stale] nor [bot.Bot.StaleAfter]:
	// what is older is late. Defaults to never.
	StaleAfter time.Duration
	// Logger gets the stacks of panics. Defaults to none.
	Logger *slog.Logger
}

// Worker runs the records of a bot. Safe for concurrent use.
type Worker struct {
	bot   *bot.Bot
	lives *flow.Lives
	log   *slog.Logger
}

// New makes a worker. The error names everything that is wrong with the bot.
func New(cfg Config) (*Worker, error) {
	if cfg.Bot == nil {
		return nil, errors.New("worker: Config.Bot is missing")
	}
	cfg.Bot = cfg.Bot.WithHandover(cfg.Handover).WithStaleAfter(cfg.StaleAfter)
	if err := cfg.Bot.Validate(); err != nil {
		return nil, fmt.Errorf("worker: the bot is not valid:\n%w", err)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	w := &Worker{bot: cfg.Bot, log: cfg.Logger}
	w.lives = flow.NewLives(func(chat botmesh.ChatKey, c *flow.Crash) {
		w.log.Error("live conversation panicked at its end", "chat", chat, "stack", c.Stack)
	})
	return w, nil
}

// farewell bounds how long the functions of live conversations have to return at the end.
const farewell = time.Second

// Close ends the live conversations that wait, see [flow.NewLive]. It is called when nothing
// runs any more, and returns when their functions have; after a second it returns an error,
// and leaves those behind that have not.
func (w *Worker) Close() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), farewell, errStays)
	defer cancel()
	return w.lives.Close(ctx)
}

var errStays = errors.New("worker: a live conversation does not end: its function must return when flow.Wait returns an error")

// failed tells the bot that a run of it failed. A panic of a hook harms nothing else.
func (w *Worker) failed(ctx context.Context, r botmesh.Run, err error) {
	defer func() {
		if v := recover(); v != nil {
			w.log.ErrorContext(ctx, "error hook panicked", "chat", r.Record.Chat, "seq", r.Record.Seq, "stack", caught(v).Stack)
		}
	}()
	w.bot.Failed(ctx, r, err)
}

// Stays implements [dispatcher.Stayer].
func (w *Worker) Stays(state []byte) bool { return w.bot.Stays(state) }

// HandedOver tells the bot of a conversation that it has from another process.
func (w *Worker) HandedOver(ctx context.Context, m botmesh.Handover) { w.bot.HandedOver(ctx, m) }

// TurnLost tells the bot of a turn that this process lost.
func (w *Worker) TurnLost(ctx context.Context, m botmesh.TurnLost) { w.bot.TurnLost(ctx, m) }

// Leaves reports whether a record leads out of a conversation that this build can not go on
// with.
func (w *Worker) Leaves(r botmesh.Record) bool { return w.bot.Leaves(r) }

// errEnded is why a handler's context ends after its run.
var errEnded = errors.New("worker: the run has ended")

// errExited is what a handler comes to that returns in no way.
var errExited = errors.New("worker: the handler ended its goroutine, by runtime.Goexit: it must return")

// Run runs one record and returns what the bot decided.
//
// On error nothing was decided: the run counts for nothing but what it committed
// through m. If ctx has ended it is ctx's cause, whatever the handler returned;
// if the handler panicked, a [PanicError]; else the handler's own error. Run
// returns when the handler does; from then on the handler's context is ended.
func (w *Worker) Run(ctx context.Context, r botmesh.Run, m botmesh.Midway) (out botmesh.Outcome, err error) {
	within, end := context.WithCancelCause(ctx)
	defer end(errEnded)
	err = errExited // until it returns
	defer func() {
		if v := recover(); v != nil {
			p := caught(v)
			w.log.ErrorContext(ctx, "handler panicked", "chat", r.Record.Chat, "seq", r.Record.Seq, "attempt", r.Try, "stack", p.Stack)
			out, err = botmesh.Outcome{}, p
		}
		if ctx.Err() != nil {
			out, err = botmesh.Outcome{}, fmt.Errorf("worker: run stopped: %w", context.Cause(ctx))
		}
		if lost, stopped := errors.AsType[*botmesh.LeaseLostError](err); err != nil && (ctx.Err() == nil || stopped && lost.Reason == botmesh.LossSettled) {
			w.failed(ctx, r, err)
		}
	}()
	return w.bot.TurnIn(within, w.lives, r, m)
}
