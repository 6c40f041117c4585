package ingress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"golang.org/x/time/rate"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/provider"
)

const (
	defaultDown    = time.Minute
	defaultCoolOff = 5 * time.Second
	defaultRetake  = 15 * time.Second
	// reopenAfter and reopenMost bound the pauses between two tries to open a session.
	reopenAfter = 500 * time.Millisecond
	reopenMost  = 30 * time.Second
	// stepDownTime bounds how long giving up a leadership is waited for; it goes on
	// in the background.
	stepDownTime = 2 * time.Second
)

// Why a replica holds a session no more, besides the reasons of a lost lease.
var (
	errDown  = errors.New("ingress: the session stayed closed")
	errTaken = errors.New("ingress: the session was taken over from outside, twice")
)

// HolderConfig configures a [Holder].
type HolderConfig struct {
	// Session is what is held. Required.
	Session provider.Session
	// Journal stores the records. Required.
	Journal Journal
	// Elector says which replica holds the session: the leader of "provider:<id>".
	// Without one every replica does.
	Elector coord.Elector
	// Down is how long the session may stay closed, or the journal not be written,
	// before this replica steps down for another. Defaults to a minute.
	Down time.Duration
	// CoolOff is how long this replica then leaves the session to others. Defaults
	// to 5 seconds.
	CoolOff time.Duration
	// Retake is how long a session that was taken over from outside is left alone at
	// least, before it is opened once more. Defaults to 15 seconds.
	Retake time.Duration
	// OnRole, if set, is told when this replica comes to hold the session or holds it no
	// more, each in its turn: beside the session, and only after a leadership was given up.
	// Its context ends after a second, and nobody waits for longer.
	OnRole func(ctx context.Context, c RoleChange)
	// Logger is told about leadership and trouble. Defaults to none.
	Logger *slog.Logger
}

func (c *HolderConfig) setDefaults() {
	c.Down = cmp.Or(c.Down, defaultDown)
	c.CoolOff = cmp.Or(c.CoolOff, defaultCoolOff)
	c.Retake = cmp.Or(c.Retake, defaultRetake)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

func (c *HolderConfig) validate() error {
	var errs []error
	if c.Session == nil {
		errs = append(errs, errors.New("ingress: no Session"))
	} else if !botmesh.ValidName(c.Session.ID()) {
		errs = append(errs, fmt.Errorf("ingress: session %q does not match [a-z0-9-]{1,32}", c.Session.ID()))
	}
	if c.Journal == nil {
		errs = append(errs, errors.New("ingress: no Journal"))
	}
	if c.Down < 0 || c.CoolOff < 0 || c.Retake < 0 {
		errs = append(errs, errors.New("ingress: Down, CoolOff and Retake must not be negative"))
	}
	return errors.Join(errs...)
}

// Holder holds a provider's session: it stands for the leadership of it, keeps the
// session open while it leads, and journals what comes. Make one with [NewHolder]
// and call [Holder.Run] once.
//
// Leadership decides who should; that nothing is lost or doubled rests on the order
// of storing and confirming and on the platform's ids, whoever leads.
type Holder struct {
	cfg     HolderConfig
	outages rate.Sometimes // bounds the lines about a journal that is away

	mu     sync.Mutex
	status SessionStatus
}

// NewHolder makes a Holder. The error names everything that is wrong with cfg.
func NewHolder(cfg HolderConfig) (*Holder, error) {
	cfg.setDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	h := &Holder{cfg: cfg, outages: rate.Sometimes{Interval: logEvery}}
	h.status = SessionStatus{Provider: cfg.Session.ID(), Role: Standby, Since: time.Now()}
	return h, nil
}

// name is what the leader of the session leads.
func (h *Holder) name() string { return "provider:" + h.cfg.Session.ID() }

// Run holds the session, or waits for it, until ctx ends. It leaves the session in
// order then and steps down, so that another replica holds it at once. The error is
// nil unless the Elector can not be used any more.
func (h *Holder) Run(ctx context.Context) error {
	h.begins(ctx)
	if h.cfg.Elector == nil {
		h.hold(ctx, nil)
		return nil
	}
	for ctx.Err() == nil {
		lead, err := h.cfg.Elector.Campaign(ctx, h.name())
		switch {
		case err == nil:
			h.hold(ctx, lead)
		case ctx.Err() == nil:
			return fmt.Errorf("ingress: standing for %s: %w", h.name(), err)
		}
	}
	return nil
}

// term is the time for which this replica holds the session.
type term struct {
	lead coord.Leadership // nil if nobody elects
	end  context.CancelCauseFunc
	down *time.Timer // ends the term; nil if nobody else could hold the session
	// taken says that the session was taken over from outside lately.
	taken bool
	// opened is when the session was last opened.
	opened time.Time
	// notBefore is when the platform wants to be asked again.
	notBefore time.Time
}

// lost says whether the leadership is over, by this process's own clock.
func (t *term) lost() error {
	if t.lead == nil || t.lead.Context().Err() == nil {
		return nil
	}
	return context.Cause(t.lead.Context())
}

// hold keeps the session open until ctx ends, the leadership is lost, or another
// replica is to have it.
func (h *Holder) hold(ctx context.Context, lead coord.Leadership) {
	t := &term{lead: lead}
	parent := ctx
	if lead != nil {
		parent = lead.Context()
	}
	held, end := context.WithCancelCause(parent)
	defer end(nil)
	defer context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })()
	t.end = end
	if lead != nil {
		t.down = time.AfterFunc(h.cfg.Down, func() { end(errDown) })
		defer t.down.Stop()
	}
	told := h.tell(nil, h.began(ctx, t))
	why := h.keep(held, t)
	change := h.ended(ctx, t, why)
	defer func() { <-h.tell(told, change) }()
	if lead == nil || errors.Is(why, botmesh.ErrLeaseLost) {
		return
	}
	var coolOff time.Duration
	if ctx.Err() == nil {
		coolOff = max(h.cfg.CoolOff, time.Until(t.notBefore))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepDownTime)
	defer cancel()
	if err := lead.StepDown(ctx, coolOff); err != nil {
		h.cfg.Logger.Warn("a leadership was not given up in order", "name", h.name(), "err", err)
	}
}

// keep opens the session again and again, and returns why it does so no more.
func (h *Holder) keep(ctx context.Context, t *term) error {
	pauses := backoff.NewExponentialBackOff(backoff.WithInitialInterval(reopenAfter),
		backoff.WithMaxInterval(reopenMost), backoff.WithMaxElapsedTime(0))
	for {
		err := h.open(ctx, t)
		if lost := t.lost(); lost != nil {
			return lost
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if h.closed(t, err) {
			pauses.Reset()
		}
		pause := pauses.NextBackOff()
		if after, ok := provider.RetryAfter(err); ok {
			pause = max(pause, after)
			t.notBefore = time.Now().Add(after)
		}
		if errors.Is(err, provider.ErrTaken) {
			if over := h.takenOver(ctx, t, err); over != nil {
				return over
			}
			pause = max(pause, h.cfg.Retake+rand.N(h.cfg.Retake/2+1)) // two that took turns would meet again
		} else {
			h.cfg.Logger.Warn("a session was closed", "name", h.name(), "after", pause, "err", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			if lost := t.lost(); lost != nil {
				return lost
			}
			return context.Cause(ctx)
		}
	}
}

// takenOver says what ends the term after somebody opened the session elsewhere: a
// replica that leads now, or, the second time, somebody from outside. Another
// replica may have more luck with that one.
func (h *Holder) takenOver(ctx context.Context, t *term, err error) error {
	if t.lead != nil {
		if confirm := t.lead.Confirm(ctx); errors.Is(confirm, botmesh.ErrLeaseLost) {
			return confirm
		}
		if t.taken {
			return errTaken
		}
	}
	t.taken = true
	h.cfg.Logger.Error("a session was taken over from outside", "name", h.name(), "err", err)
	return nil
}

// open runs the session once. It never panics and never returns nil.
func (h *Holder) open(ctx context.Context, t *term) (err error) {
	defer func() {
		if p := recover(); p != nil {
			h.cfg.Logger.Error("a session panicked", "name", h.name(), "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			err = errors.New("ingress: the session panicked")
		}
	}()
	if err := h.cfg.Session.Run(ctx, &sink{holder: h, term: t}); err != nil {
		return err
	}
	return errors.New("ingress: the session ended without a reason")
}
