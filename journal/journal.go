package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// epochKey is the stream's metadata entry that holds the journal's epoch.
const epochKey = "botmesh.epoch"

var (
	// ErrEpochChanged says that the stream is not the one that was opened: it was
	// deleted and made again, or another one restored in its place. The journal
	// must be opened anew.
	ErrEpochChanged = errors.New("journal: the stream has another epoch than when it was opened")

	// ErrNotProven says that a record was not found but may be there all the same.
	ErrNotProven = errors.New("journal: not found, and not proven absent")
)

// Config says where a journal is.
type Config struct {
	// Bot is the bot's id. Required.
	Bot string
	// Inbox is the stream of the records ([InboxStream]). Required.
	Inbox jet.Stream
	// Dead is the stream of the dead letters ([DeadStream]). Required by Open.
	Dead jet.Stream
	// AckWait is how long a nudge that nobody keeps in progress stays out before
	// it comes again: the lease. Defaults to 15 seconds.
	AckWait time.Duration
	// Logger is told what an operator should know. Defaults to none.
	Logger *slog.Logger
}

func (c Config) validate(whole bool) error {
	var err error
	if !botmesh.ValidName(c.Bot) {
		err = errors.Join(err, fmt.Errorf("journal: bot %q does not match [a-z0-9-]{1,32}", c.Bot))
	}
	if c.Inbox == nil {
		err = errors.Join(err, errors.New("journal: no Inbox stream"))
	}
	if whole && c.Dead == nil {
		err = errors.Join(err, errors.New("journal: no Dead stream"))
	}
	if c.AckWait < 0 {
		err = errors.Join(err, fmt.Errorf("journal: AckWait %v", c.AckWait))
	}
	return err
}

func (c Config) logger() *slog.Logger {
	if c.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Logger
}

// Journal is a bot's journal, to be read and written. Safe for concurrent use.
type Journal struct {
	*Publisher
	dead                 jet.Stream
	epoch                string
	ackWait              time.Duration
	nudges               atomic.Pointer[jet.Consumer]
	counted, countedHeld counted      // of the dead letters, and of the parts that are held
	room                 atomic.Int64 // for ids that are kept to tell repetitions
}

// Open reads the journal's epoch from its stream.
//
// It fails with botmesh.ErrRefused if there is no such stream or nobody could
// answer just now.
func Open(ctx context.Context, cfg Config) (*Journal, error) {
	if err := cfg.validate(true); err != nil {
		return nil, err
	}
	p, err := NewPublisher(cfg)
	if err != nil {
		return nil, err
	}
	info, err := cfg.Inbox.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("journal: open %s: %w", cfg.Inbox.Name(), err)
	}
	epoch := info.Metadata[epochKey]
	if !botmesh.ValidName(epoch) {
		return nil, fmt.Errorf("journal: open %s: its metadata has no %s, so that it was not made by Botmesh", cfg.Inbox.Name(), epochKey)
	}
	if cfg.AckWait == 0 {
		cfg.AckWait = 15 * time.Second
	}
	j := &Journal{Publisher: p, dead: cfg.Dead, epoch: epoch, ackWait: cfg.AckWait}
	j.room.Store(maxAllEarlier)
	return j, nil
}

// Epoch names the stream as it was made. Sequences of different epochs can not be compared.
func (j *Journal) Epoch() string { return j.epoch }

// Current says whether the stream is still the one that was opened, by its leader's
// word. It returns [ErrEpochChanged] if not, botmesh.ErrRefused if nobody could answer.
func (j *Journal) Current(ctx context.Context) error {
	_, err := j.sameEpoch(ctx)
	return err
}

// End returns the journal's last sequence, by its leader's word. Errors are as of
// [Journal.Current].
func (j *Journal) End(ctx context.Context) (uint64, error) {
	info, err := j.sameEpoch(ctx)
	return info.LastSeq, err
}

// sameEpoch asks the stream's leader and returns what it says.
func (j *Journal) sameEpoch(ctx context.Context) (jet.Info, error) {
	info, err := j.inbox.Info(ctx)
	if err != nil {
		return jet.Info{}, fmt.Errorf("journal: look at %s: %w", j.inbox.Name(), err)
	}
	if got := info.Metadata[epochKey]; got != j.epoch {
		return jet.Info{}, fmt.Errorf("%w: %q, want %q", ErrEpochChanged, got, j.epoch)
	}
	return info, nil
}
