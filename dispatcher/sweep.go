package dispatcher

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/journal"
)

// sweptKey is where the store keeps the epoch of the journal that was swept last.
// It has no dot, so that it is no chat's.
const sweptKey = "_swept"

// sweepPause is how long a sweep that failed waits before it is made again.
const sweepPause = 10 * time.Second

// sweep gives every chat with something left to do a record to stand for it, once
// for each epoch of the journal.
//
// What a chat has left to do, effects to confirm or letters to deliver, stands
// under an unacknowledged record. When the journal is made anew those records are
// gone, and nobody would look at the chat until its user writes again.
//
// It looks again and again, since who leaves the old journal asks for another sweep; and
// seldom at the moments of what else goes by leases.
func (d *Dispatcher) sweep() {
	for {
		d.lookAtParked(d.soft)
		wait := 2*d.cfg.Lease + d.cfg.Lease/7
		if err := d.sweepOnce(d.soft); err != nil && !d.draining() {
			d.log.WarnContext(d.soft, "the sweep of a new journal did not end, it is made again", "err", err)
			wait = sweepPause
		}
		if !pause(d.soft, wait) {
			return
		}
	}
}

func (d *Dispatcher) sweepOnce(ctx context.Context) error {
	epoch := d.cfg.Journal.Epoch()
	row, err := d.cfg.Store.Load(ctx, sweptKey)
	if err != nil {
		return fmt.Errorf("dispatcher: sweep: %w", err)
	}
	var swept struct {
		Epoch string `json:"epoch"`
	}
	if row.Revision != 0 {
		if err := json.Unmarshal(row.Value, &swept); err != nil {
			return fmt.Errorf("dispatcher: sweep: %w", err)
		}
		if swept.Epoch == epoch {
			return nil
		}
		d.log.WarnContext(ctx, "the journal was made anew, chats with something left to do get a record")
	}
	// No epoch is noted before the first sweep ends: the first journal of all may be
	// made anew before that.
	if err := d.sweepChats(ctx, epoch); err != nil {
		return err
	}
	swept.Epoch = epoch
	value, err := json.Marshal(swept)
	if err != nil {
		return fmt.Errorf("dispatcher: sweep: %w", err)
	}
	// A crash before this write, or another replica's sweep beside this one: the
	// records are published again, under the same ids.
	_, err = d.cfg.Store.Swap(ctx, sweptKey, row, value, d.nonce.next(), 0)
	if err != nil && !errors.Is(err, botmesh.ErrConflict) {
		return fmt.Errorf("dispatcher: sweep: %w", err)
	}
	return nil
}

// lastLook says whether the journal was made anew while this dispatcher drained.
func (d *Dispatcher) lastLook() error {
	ctx, cancel := context.WithTimeout(context.Background(), d.moment())
	defer cancel()
	err := insist(ctx, func() error { return d.cfg.Journal.Current(ctx) })
	if err != nil && !errors.Is(err, journal.ErrEpochChanged) {
		d.log.WarnContext(ctx, "could not look whether the journal was made anew", "err", err)
	}
	return err
}

// sweepAgain has whoever serves the new journal sweep it once more. What this
// dispatcher committed before it left the old one stands under records that are gone,
// and the sweep of the new one may have been before that. A replica that is killed in
// this moment leaves such a chat to the next message of its user.
func (d *Dispatcher) sweepAgain() {
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Lease/3)
	defer cancel()
	err := insist(ctx, func() error {
		row, err := d.cfg.Store.Load(ctx, sweptKey)
		if err != nil || row.Revision == 0 {
			return err
		}
		_, err = d.cfg.Store.Swap(ctx, sweptKey, row, []byte("{}"), d.nonce.next(), 0)
		if errors.Is(err, botmesh.ErrConflict) {
			return botmesh.ErrRefused // another replica swept meanwhile, perhaps too early
		}
		return err
	})
	if err != nil {
		d.log.WarnContext(ctx, "the new journal may not be swept again", "err", err)
	}
}

func (d *Dispatcher) sweepChats(ctx context.Context, epoch string) error {
	var failed error
	err := d.cfg.Store.Keys(ctx, func(key string) bool {
		if !strings.HasPrefix(key, "_") { // those are no chats
			failed = d.sweepChat(ctx, key, epoch)
		}
		return failed == nil
	})
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("dispatcher: sweep: %w", err)
	}
	return nil
}

// sweepChat publishes a record without effect for a chat of another epoch that has
// something left to do.
func (d *Dispatcher) sweepChat(ctx context.Context, key, epoch string) error {
	row, err := d.cfg.Store.Load(ctx, key)
	if err != nil {
		return err
	}
	cp, err := checkpoint.Decode(row.Value)
	if err != nil || row.Revision == 0 || cp.Epoch == epoch || cp.Chat.Validate() != nil {
		return nil // what can not be read here is a newer build's to see to
	}
	if cp.Effects == nil && len(cp.Timers) == 0 {
		tail, err := d.cfg.Outbox.Last(ctx, cp.Chat)
		if err != nil {
			return err
		}
		standing, err := d.cfg.Outbox.Standing(ctx, cp.Chat)
		if err != nil {
			return err
		}
		if standing.Settled >= tail.Seq {
			return nil
		}
	}
	sum := sha256.Sum256([]byte(key)) // a key and an epoch may be too long together for an id
	_, err = d.cfg.Journal.Publish(ctx, botmesh.Record{
		Type: botmesh.TypeEvent, ID: "sweep:" + epoch + ":" + hex.EncodeToString(sum[:16]), Chat: cp.Chat,
	})
	return err
}
