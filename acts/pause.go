package acts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

const (
	// pollPause is how often a watcher looks that hears nothing.
	pollPause = time.Second
	watchPage = 256
)

// Scope is what a pause stops. It is a word of the wire.
type Scope string

// The scopes.
const (
	All      Scope = "all"      // no record is run, nothing is sent, timers stand still
	Delivery Scope = "delivery" // records are run, and what they say waits
)

// Pause is the pause of a chat, or what is left of one: who wrote it last, and which
// records it passes over. The zero Pause is of a chat that never had one.
type Pause struct {
	ID   string          `json:"id,omitempty"`
	Chat botmesh.ChatKey `json:"chat"`
	// On says that the chat is paused.
	On     bool      `json:"on"`
	Scope  Scope     `json:"scope,omitempty"`
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	// Resumed is when it ended, How the operator's choice about what had come.
	Resumed time.Time `json:"resumed,omitzero"`
	How     string    `json:"how,omitempty"`
	// Of what the chat's user did, and of timers that fired, the records of Epoch up to
	// sequence Through are not run, but for the one at Keep and what was put back.
	Epoch   string `json:"epoch,omitempty"`
	Through uint64 `json:"through,omitempty"`
	Keep    uint64 `json:"keep,omitempty"`

	// Revision is what a replacement must name, zero if there is none yet.
	Revision uint64 `json:"-"`
}

// StopsTurns reports whether no record of the chat is to be run.
func (p Pause) StopsTurns() bool { return p.On && p.Scope != Delivery }

// PassesOver reports whether a record at a place is not to be run, if it is the
// user's or a timer's and was not put back.
func (p Pause) PassesOver(epoch string, seq uint64) bool {
	return p.Epoch == epoch && seq <= p.Through && seq != p.Keep
}

// PausesConfig configures [OpenPauses].
type PausesConfig struct {
	Config
	// Listen, if set, calls wake soon after a message was published on a subject of the
	// stream (wildcards allowed); it may miss one now and then. stop ends it. Without,
	// a change is seen within a second.
	Listen func(subject string, wake func()) (stop func(), err error)
	Logger *slog.Logger // defaults to discarding
}

// Pauses knows which chats are paused. Safe for concurrent use.
type Pauses struct {
	cfg PausesConfig

	mu    sync.Mutex
	known map[string]Pause // by chat key
	next  uint64           // sequence from which nothing was read yet
	last  jet.Stored       // the last message that was read, if any was
}

// OpenPauses reads the pauses there are. It fails with botmesh.ErrRefused if nobody
// could answer just now.
func OpenPauses(ctx context.Context, cfg PausesConfig) (*Pauses, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Pauses{cfg: cfg, known: map[string]Pause{}, next: 1}
	for {
		more, err := p.read(ctx)
		if err != nil {
			return nil, err
		}
		if !more {
			return p, nil
		}
	}
}

// Run follows the pauses until ctx ends. While the stream can not be read it goes on
// with what it knows: a pause that is set or ended meanwhile is heeded once it can be
// read again.
func (p *Pauses) Run(ctx context.Context) error {
	woken := make(chan struct{}, 1)
	if p.cfg.Listen != nil {
		stop, err := p.cfg.Listen(p.subject("")+">", func() {
			select {
			case woken <- struct{}{}:
			default:
			}
		})
		if err != nil {
			return fmt.Errorf("acts: follow the pauses: %w", err)
		}
		defer stop()
	}
	tick := time.NewTicker(pollPause)
	defer tick.Stop()
	failing := false
	var anew error // whether the stream was made anew could not be told when it was last asked
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			anew = p.startOver(ctx)
		case <-woken:
		}
		err := anew
		for more := true; more; {
			var failed error
			more, failed = p.read(ctx)
			err = cmp.Or(failed, err)
		}
		failing = p.report(ctx, failing, err)
	}
}

// report logs the first of several failures, and reports whether err is one.
func (p *Pauses) report(ctx context.Context, failing bool, err error) bool {
	if err != nil && !failing && ctx.Err() == nil {
		p.cfg.Logger.WarnContext(ctx, "pauses can not be read, those known are heeded", "err", err)
	}
	return err != nil
}

// startOver reads all again if the stream is not the one that was read: one that was
// made anew counts from one, and nothing in it would be new.
func (p *Pauses) startOver(ctx context.Context) error {
	p.mu.Lock()
	last := p.last
	p.mu.Unlock()
	if last.Seq == 0 {
		return nil
	}
	m, err := p.cfg.Stream.Get(ctx, last.Seq)
	if err == nil && m.Time.Equal(last.Time) {
		return nil
	}
	if err != nil && !errors.Is(err, botmesh.ErrNotFound) {
		return fmt.Errorf("acts: read the pauses: %w", err)
	}
	fresh, err := OpenPauses(ctx, p.cfg)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known, p.next, p.last = fresh.known, fresh.next, fresh.last
	return nil
}

// read takes in what was written since the last time, and reports whether there may
// be more.
func (p *Pauses) read(ctx context.Context) (more bool, err error) {
	p.mu.Lock()
	from := p.next
	p.mu.Unlock()
	ms, err := p.cfg.Stream.Range(ctx, p.subject("")+">", from, watchPage)
	if err != nil {
		return false, fmt.Errorf("acts: read the pauses: %w", err)
	}
	for _, m := range ms {
		pause, err := decode(m)
		if err != nil {
			p.cfg.Logger.ErrorContext(ctx, "a pause can not be read", "seq", m.Seq, "err", err)
			continue
		}
		p.learn(pause)
	}
	if len(ms) > 0 {
		p.mu.Lock()
		p.last = ms[len(ms)-1]
		p.next = p.last.Seq + 1
		p.mu.Unlock()
	}
	return len(ms) == watchPage, nil
}

// learn keeps the newest of what was read of a chat.
func (p *Pauses) learn(pause Pause) {
	key := pause.Chat.Key()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known[key].Revision < pause.Revision {
		p.known[key] = pause
	}
}

// Known returns what this process knows of a chat's pause, without asking: what was
// written a moment ago may be missing.
func (p *Pauses) Known(chat botmesh.ChatKey) Pause {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[chat.Key()]
}

// Paused returns the chats that are paused as far as this process knows, longest first.
func (p *Pauses) Paused() []Pause {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Pause
	for _, pause := range p.known {
		if pause.On {
			all = append(all, pause)
		}
	}
	slices.SortFunc(all, func(a, b Pause) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Chat.Key(), b.Chat.Key()))
	})
	return all
}

// Get asks the stream's leader for a chat's pause, the zero Pause if it never had one.
// Errors: botmesh.ErrRefused if nobody could answer, or the context's.
func (p *Pauses) Get(ctx context.Context, chat botmesh.ChatKey) (Pause, error) {
	m, err := p.cfg.Stream.Last(ctx, p.subject(chat.Key()))
	if errors.Is(err, botmesh.ErrNotFound) {
		return Pause{}, nil
	}
	if err != nil {
		return Pause{}, fmt.Errorf("acts: read the pause of %s: %w", chat, err)
	}
	pause, err := decode(m)
	if err == nil {
		p.learn(pause)
	}
	return pause, err
}

// Set replaces a chat's pause, if it is still the one of next.Revision, and returns it
// with its new revision. It does not age, be it on or not: were the end of a pause to go,
// the pause before it would be the last message again.
//
// Errors: botmesh.ErrConflict (another is there: read it), botmesh.ErrRefused,
// botmesh.ErrUnknown (it may be there: read it).
func (p *Pauses) Set(ctx context.Context, next Pause) (Pause, error) {
	data, err := json.Marshal(next)
	if err != nil {
		return Pause{}, fmt.Errorf("acts: pause %s: %w", next.Chat, err)
	}
	ack, err := p.cfg.Stream.Publish(ctx, jet.Publish{
		Msg: jet.Msg{Subject: p.subject(next.Chat.Key()), Data: data}, Expect: &next.Revision,
	})
	if err != nil {
		return Pause{}, fmt.Errorf("acts: pause %s: %w", next.Chat, err)
	}
	next.Revision = ack.Seq
	p.learn(next)
	return next, nil
}

func (p *Pauses) subject(key string) string { return familyPause + "." + p.cfg.Bot + "." + key }

func decode(m jet.Stored) (Pause, error) {
	var pause Pause
	if err := json.Unmarshal(m.Data, &pause); err != nil {
		return Pause{}, fmt.Errorf("acts: pause %d on %s: %w", m.Seq, m.Subject, err)
	}
	pause.Revision = m.Seq
	return pause, nil
}
