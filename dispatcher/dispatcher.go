package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
)

// Config configures a [Dispatcher]. A zero value of an optional field means its default.
type Config struct {
	Journal     *journal.Journal  // required
	Coordinator coord.Coordinator // required
	Store       checkpoint.Store  // required
	Outbox      *outbox.Outbox    // required
	Runner      Runner            // required
	// Files reads what the chats' messages refer to. Defaults to nothing.
	Files botmesh.OpenFile
	// Pauses knows which chats an operator has paused. Defaults to none.
	Pauses *acts.Pauses

	// Lease is the coordinator's lease and the journal's acknowledgement wait.
	// Defaults to 15s.
	Lease time.Duration
	// Settle bounds one run of one record that says nothing else; see [botmesh.Settler]. Defaults to 1m.
	Settle time.Duration
	// Drain bounds how long Run goes on after its context ended. Defaults to 15s.
	Drain time.Duration
	// Tries is how often a record is run before it is set aside. Defaults to 5.
	Tries int
	// Backoff is the pause after the first failed try; each next one is twice as
	// long. Defaults to 2s, so that five tries take about 30s.
	Backoff time.Duration
	// Concurrency is how many chats are run at once. Defaults to 256.
	Concurrency int
	// IdleChats is how many chats' checkpoints are kept in memory after their
	// turn. Defaults to 10 000.
	IdleChats int
	// Retention is the longest time that the journal or the outbox keeps a record.
	// Effects older than that, less a day, count as flushed; a checkpoint that
	// holds no conversation is removed after twice that. Defaults to 8 days.
	Retention time.Duration
	// Deploy is the number of this deploy: checkpoints of a higher one are left
	// alone. Zero turns that off.
	Deploy int
	// ParkAfter is how long a chat that only another build can serve is given back before
	// it counts as parked, which an operator is told. Defaults to 6m, three times the usual
	// wait for a turn.
	ParkAfter time.Duration
	Logger    *slog.Logger // defaults to discarding
}

func (c *Config) validate() error {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&c.Lease, 15*time.Second)
	def(&c.Settle, time.Minute)
	def(&c.Drain, 15*time.Second)
	def(&c.Backoff, 2*time.Second)
	def(&c.Retention, 8*24*time.Hour)
	def(&c.ParkAfter, 6*time.Minute)
	for _, n := range []struct {
		v *int
		d int
	}{{&c.Tries, 5}, {&c.Concurrency, 256}, {&c.IdleChats, 10_000}} {
		if *n.v == 0 {
			*n.v = n.d
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	var errs []error
	need := func(ok bool, what string) {
		if !ok {
			errs = append(errs, errors.New("dispatcher: Config."+what))
		}
	}
	need(c.Journal != nil, "Journal is required")
	need(c.Coordinator != nil, "Coordinator is required")
	need(c.Store != nil, "Store is required")
	need(c.Outbox != nil, "Outbox is required")
	need(c.Runner != nil, "Runner is required")
	need(c.Lease > 0 && c.Settle > 0 && c.Drain > 0 && c.Backoff > 0 && c.Retention > 0 && c.ParkAfter > 0, "durations must be positive")
	need(c.Tries > 0 && c.Concurrency > 0 && c.IdleChats > 0 && c.Deploy >= 0, "numbers must be positive")
	return errors.Join(errs...)
}

// Dispatcher serves chats. Make one with [New] and call [Dispatcher.Run] once.
type Dispatcher struct {
	cfg    Config
	log    *slog.Logger
	slots  *slots
	runs   *semaphore.Weighted // one of Concurrency for each run, all for one that is to be alone
	held   *latest[chatCopy]
	rivals *latest[sighting]
	nonce  nonces
	away   bool // the last pull failed

	parking *parking

	soft  context.Context // ends when the drain begins
	drain context.CancelFunc
	hard  context.Context // ends when the drain's time is up
	abort context.CancelCauseFunc

	mu    sync.Mutex
	lanes map[string]*lane // by chat key
	// ending says that Run waits for the lanes: no call of another replica begins one.
	ending bool
	group  sync.WaitGroup // one per lane that runs
}

// errDraining is the cause of whatever ends since this replica stops.
var errDraining = errors.New("dispatcher: draining")

// New checks cfg and returns a dispatcher that is not running yet. The error
// joins everything that is wrong with cfg.
func New(cfg Config) (*Dispatcher, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	d := &Dispatcher{
		cfg:    cfg,
		log:    cfg.Logger,
		slots:  newSlots(cfg.Concurrency),
		runs:   semaphore.NewWeighted(int64(cfg.Concurrency)),
		held:   newLatest[chatCopy](cfg.IdleChats),
		rivals: newLatest[sighting](cfg.IdleChats),
		lanes:  make(map[string]*lane),
	}
	d.nonce.prefix = cfg.Coordinator.Incarnation()
	d.parking = newParking(cfg)
	d.soft, d.drain = context.WithCancel(context.Background())
	d.hard, d.abort = context.WithCancelCause(context.Background())
	return d, nil
}

// Run serves chats until ctx ends, then drains: it takes no new work, lets each
// run in hand end and be committed, delivers and acknowledges what was committed, releases
// every turn, and returns. What does not end within Config.Drain is cut off; its
// records are run again elsewhere. Waiting and draining spend no try.
//
// The error is nil after a drain, whether or not it was in time. It is
// journal.ErrEpochChanged if the journal was made anew: Run has drained, and
// everything must be opened again.
func (d *Dispatcher) Run(ctx context.Context) error {
	defer d.abort(errDraining)
	defer context.AfterFunc(ctx, d.drain)()
	var background sync.WaitGroup
	background.Go(d.progress)
	background.Go(d.sweep)
	d.heed()
	var err error
	for d.soft.Err() == nil {
		if err = d.pull(); errors.Is(err, journal.ErrEpochChanged) {
			d.drain()
		}
	}
	d.mu.Lock()
	d.ending = true
	d.mu.Unlock()
	d.log.InfoContext(ctx, "draining", "after", d.cfg.Drain)
	limit := time.AfterFunc(d.cfg.Drain, func() { d.abort(errDraining) })
	d.group.Wait()
	limit.Stop()
	d.abort(errDraining)
	background.Wait()
	d.parking.close()
	if !errors.Is(err, journal.ErrEpochChanged) {
		err = d.lastLook()
	}
	if errors.Is(err, journal.ErrEpochChanged) {
		d.sweepAgain()
		return fmt.Errorf("dispatcher: %w", err)
	}
	return nil
}

// pull asks the journal once for as many nudges as there are free slots.
func (d *Dispatcher) pull() error {
	n, err := d.slots.free(d.soft)
	if err != nil {
		return nil // draining
	}
	err = d.cfg.Journal.Pull(d.soft, min(n, 256), d.cfg.Lease/3, d.nudge)
	if d.soft.Err() != nil || errors.Is(err, journal.ErrEpochChanged) {
		return err // no lane is to go on a moment longer than need be
	}
	switch {
	case err != nil && !d.away:
		d.log.WarnContext(d.soft, "the journal can not be reached", "err", err)
	case err == nil && d.away:
		d.log.InfoContext(d.soft, "the journal is reached again")
	}
	if d.away = err != nil; d.away {
		pause(d.soft, time.Second)
	}
	return err
}

// nudge hands a nudge to its chat's lane, a new one if there is none. It does no
// waiting: the nudges of all chats come through here.
func (d *Dispatcher) nudge(n journal.Nudge) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.nudgeLocked(n)
}

func (d *Dispatcher) nudgeLocked(n journal.Nudge) {
	key := n.Chat.Key()
	l := d.lanes[key]
	if l == nil {
		l = newLane(d, n.Chat)
		d.lanes[key] = l
		d.group.Go(l.run)
	}
	l.add(n)
}

// retire removes a lane that has no nudge, so that the next one begins a new
// lane. It reports false if a nudge came meanwhile.
func (d *Dispatcher) retire(l *lane) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.waiting() > 0 {
		return false
	}
	delete(d.lanes, l.key)
	l.earlier.Forget()
	return true
}

// progress keeps the lowest nudge of every lane from being handed out again.
func (d *Dispatcher) progress() {
	for pause(d.hard, d.cfg.Lease/3) {
		for _, l := range d.open() {
			if n, ok := l.lowest(); ok {
				// Best effort: a nudge that comes again is checked against the checkpoint.
				_ = n.Progress()
			}
		}
	}
}

// open returns the lanes there are.
func (d *Dispatcher) open() []*lane {
	d.mu.Lock()
	defer d.mu.Unlock()
	lanes := make([]*lane, 0, len(d.lanes))
	for _, l := range d.lanes {
		lanes = append(lanes, l)
	}
	return lanes
}

// draining reports whether no new work may be begun.
func (d *Dispatcher) draining() bool { return d.soft.Err() != nil }

// pause waits, and reports false if ctx ended first.
func pause(ctx context.Context, wait time.Duration) bool {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// chatError says what could not be done to a chat.
func chatError(doing string, chat botmesh.ChatKey, err error) error {
	return fmt.Errorf("dispatcher: %s %s: %w", doing, chat, err)
}
