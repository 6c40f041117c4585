package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/internal/workerd"
)

// Config configures a Probe. The zero value watches nothing and dies nowhere.
type Config struct {
	Log     *history.Log
	Program Program
	// Crash arms a point, in the words of [EnvCrash].
	Crash string
	// Die does what an armed point asks for. Defaults to signals to this very process.
	Die func(Action)
}

// Probe watches one process. Safe for concurrent use.
type Probe struct {
	log   *history.Log
	crash armed
	hits  atomic.Uint64
	die   func(Action)

	mu    sync.Mutex
	chats map[string]checkpoint.Checkpoint // as last read or written here, by key
}

// New makes a probe, which notes that the process began.
func New(cfg Config) (*Probe, error) {
	crash, err := parseCrash(cfg.Crash)
	if err != nil {
		return nil, err
	}
	if cfg.Die == nil {
		cfg.Die = die
	}
	p := &Probe{log: cfg.Log, crash: crash, die: cfg.Die, chats: map[string]checkpoint.Checkpoint{}}
	p.log.Note(history.Event{Kind: history.Started, Target: string(cfg.Program)})
	return p, nil
}

// FromEnv makes the probe that the environment asks for, and takes its variables
// out of the environment: the programs know none of them.
func FromEnv(program Program) (*Probe, error) {
	log, err := history.FromEnv()
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	cfg := Config{Log: log, Program: program, Crash: os.Getenv(EnvCrash)}
	for _, name := range []string{history.EnvFile, history.EnvProcess, EnvCrash} {
		if err := os.Unsetenv(name); err != nil {
			return nil, fmt.Errorf("probe: %w", err)
		}
	}
	return New(cfg)
}

// Seams puts the probe between a worker and its engines.
func (p *Probe) Seams() workerd.Seams {
	return workerd.Seams{Stream: p.Stream, Coordinator: p.Coordinator, Sender: p.Sender}
}

// at is called at each crash point, for a chat.
func (p *Probe) at(point, chat string) {
	if point != p.crash.point || p.hits.Add(1) != p.crash.hit {
		return
	}
	p.log.Note(history.Event{Kind: history.Point, ID: point, Target: chat, Outcome: history.Outcome(p.crash.action)})
	p.die(p.crash.action)
}

// Watching is how often the probe looks whether its process stands still, and
// stalled how long it must have stood for a note of it.
const (
	watching = 100 * time.Millisecond
	stalled  = 400 * time.Millisecond
)

// Watch notes each time that the process stood still, frozen or for want of a
// processor, until ctx ends.
func (p *Probe) Watch(ctx context.Context) {
	tick := time.NewTicker(watching)
	defer tick.Stop()
	for last := history.Now(); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := history.Now()
		if took := time.Duration(now-last) - watching; took > stalled {
			p.log.Note(history.Event{Kind: history.Stall, Took: took})
		}
		last = now
	}
}

// outcome says how a call of a stream ended.
func outcome(err error) (history.Outcome, string) {
	switch {
	case err == nil:
		return history.Done, ""
	case errors.Is(err, botmesh.ErrConflict):
		return history.Conflict, brief(err)
	case errors.Is(err, botmesh.ErrTooLarge):
		return history.Failed, brief(err)
	case errors.Is(err, botmesh.ErrRefused):
		return history.Refused, brief(err)
	case errors.Is(err, botmesh.ErrNotFound):
		return history.NotFound, ""
	case errors.Is(err, botmesh.ErrUnknown), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return history.Unknown, brief(err)
	}
	return history.Failed, brief(err)
}

// brief bounds what a history says of an error.
func brief(err error) string {
	const most = 200
	s := err.Error()
	return s[:min(len(s), most)]
}

// ended is the result of a call, of the kind of its call.
func ended(call history.Event, err error) history.Event {
	e := history.Event{Kind: call.Kind, Chat: call.Chat}
	e.Outcome, e.Error = outcome(err)
	return e
}
