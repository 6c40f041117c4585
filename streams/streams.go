// Package streams compares the streams that Botmesh stands on with those that are
// there, makes absent ones, and changes one only when told to.
//
// Journal, checkpoint and outbox say what they need; this package knows none of
// them. A stream that differs is shown and refused, never silently altered: a
// retention or a duplicate window is a promise to somebody.
//
// What belongs here: comparing, making and changing streams. What a stream is for
// does not, nor do consumers: who pulls makes its own.
package streams

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// EpochKey is the metadata entry that names a stream as it was made. A wanted
// stream that has it, with whatever value, gets a random one when it is made: a
// stream that was deleted and made again is then told from the one before.
const EpochKey = "botmesh.epoch"

// Mode says what [Ensure] may do. It is the word of the configuration.
type Mode string

// The modes.
const (
	Create Mode = "create" // absent streams are made
	Verify Mode = "verify" // absent streams are refused
	Trust  Mode = "trust"  // nothing is looked at
)

// clusterReplicas is how many servers keep a stream on a cluster unless said
// otherwise: one may be lost, with a majority left.
const clusterReplicas = 3

// Replicas is how many servers keep a new stream whose configuration says zero: 1
// on a single server, 3 on a cluster. A cluster is what the connected server calls
// itself; one of fewer than three servers refuses to make such a stream, and that
// is meant: it says so rather than losing a stream with one server.
func Replicas(js jetstream.JetStream) (int, error) {
	nc := js.Conn()
	if !nc.IsConnected() {
		return 0, fmt.Errorf("streams: %w", jet.Unread(nats.ErrDisconnected))
	}
	if nc.ConnectedClusterName() == "" {
		return 1, nil
	}
	return clusterReplicas, nil
}

// Plan says what separates the wanted streams from those that are there: absent
// ones, and each setting that differs. Replicas of zero are taken as [Replicas].
//
// Errors: botmesh.ErrRefused if nobody could answer.
func Plan(ctx context.Context, js jetstream.JetStream, want []jetstream.StreamConfig) (Diff, error) {
	replicas, err := Replicas(js)
	if err != nil {
		return nil, err
	}
	var diff Diff
	for _, w := range want {
		if w.Replicas == 0 {
			w.Replicas = replicas
		}
		change, err := compare(ctx, js, w)
		if err != nil {
			return nil, err
		}
		if change != nil {
			diff = append(diff, *change)
		}
	}
	return diff, nil
}

// Ensure makes sure that the wanted streams are there as wanted, as far as mode
// allows. It never changes one that is there: it returns a [*DifferError] that
// shows the differences, and in mode Create the absent ones are made all the same.
// A stream that is there with another number of replicas than a wanted zero stands
// for is no difference: a cluster that grows stops nobody.
//
// It may be called by any number of processes at once: one makes a stream, the
// others find it. Errors: botmesh.ErrRefused and botmesh.ErrUnknown (nobody could
// answer, the cluster is not ready, an answer was lost): call it again. Any other
// will be the same next time.
func Ensure(ctx context.Context, js jetstream.JetStream, mode Mode, want []jetstream.StreamConfig) error {
	switch mode {
	case Trust:
		return nil
	case Create, Verify:
	default:
		return fmt.Errorf("streams: mode %q, want create, verify or trust", mode)
	}
	var diff Diff
	for _, w := range want {
		change, err := ensure(ctx, js, mode, w)
		if err != nil {
			return err
		}
		if change != nil {
			diff = append(diff, *change)
		}
	}
	if diff != nil {
		return &DifferError{diff}
	}
	return nil
}

// ensure compares, makes if absent, and compares again with what somebody else
// made in between.
func ensure(ctx context.Context, js jetstream.JetStream, mode Mode, want jetstream.StreamConfig) (*Change, error) {
	const deletions = 3 // between finding it in use and looking at it again
	for range deletions {
		change, err := compare(ctx, js, want)
		if err != nil || change == nil || !change.Absent || mode != Create {
			return change, err
		}
		err = create(ctx, js, want)
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("streams: %s: %w: somebody keeps deleting it", want.Name, botmesh.ErrRefused)
}

// Guard is asked before any stream is changed. An error stops [Apply].
type Guard func(have, want jetstream.StreamConfig) error

// KeepTombstones guards against a retention that outlives what keeps old records
// from being run again: the tombstone that an idle chat leaves in the checkpoint
// store for life. A record must be gone well before its chat's tombstone, so the
// retention may be raised to half of life and no further. Lengthen the life first,
// and wait until the shorter-lived tombstones are gone.
func KeepTombstones(life time.Duration) Guard {
	lasts := func(c jetstream.StreamConfig) time.Duration { return cmp.Or(c.MaxAge, math.MaxInt64) }
	return func(have, want jetstream.StreamConfig) error {
		if lasts(want) > lasts(have) && lasts(want) > life/2 {
			return fmt.Errorf("max_age %v of %s would outlive half of the checkpoint tombstones' life of %v", want.MaxAge, want.Name, life)
		}
		return nil
	}
}

// Apply makes absent streams and changes those that differ, and returns what it
// found to differ: [Plan] and [Diff.Apply].
func Apply(ctx context.Context, js jetstream.JetStream, want []jetstream.StreamConfig, guards ...Guard) (Diff, error) {
	diff, err := Plan(ctx, js, want)
	if err != nil {
		return nil, err
	}
	if err := diff.Check(guards...); err != nil {
		return diff, err
	}
	return diff, diff.Apply(ctx, js)
}

// Check asks guards of each stream that would be changed. Nothing is changed.
func (d Diff) Check(guards ...Guard) error {
	for _, change := range d {
		for _, guard := range guards {
			if change.Absent {
				continue
			}
			if err := guard(change.have, change.want); err != nil {
				return fmt.Errorf("streams: apply: %w", err)
			}
		}
	}
	return nil
}

// Apply makes absent streams and changes those that differ. Some settings the server
// never changes; it then says so, and the stream stays as it is. A stream that
// somebody else made meanwhile is left as that one made it.
//
// On an error some streams may be changed and others not; after another [Plan] it may
// be repeated.
func (d Diff) Apply(ctx context.Context, js jetstream.JetStream) error {
	for _, change := range d {
		if change.Absent {
			if err := create(ctx, js, change.want); err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
				return err
			}
			continue
		}
		if _, err := js.UpdateStream(ctx, merge(change.have, change.want)); err != nil {
			return fmt.Errorf("streams: change %s: %w", change.Stream, writeFailed(err))
		}
	}
	return nil
}

func create(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig) error {
	if want.Replicas == 0 {
		var err error
		if want.Replicas, err = Replicas(js); err != nil {
			return err
		}
	}
	want.Metadata = withEpoch(want.Metadata, "")
	if _, err := js.CreateStream(ctx, want); err != nil {
		return fmt.Errorf("streams: make %s: %w", want.Name, writeFailed(err))
	}
	return nil
}

// merge is want with what is not ours to change kept as it is.
func merge(have, want jetstream.StreamConfig) jetstream.StreamConfig {
	epoch := have.Metadata[EpochKey]
	metadata := maps.Clone(have.Metadata)
	if metadata == nil {
		metadata = map[string]string{}
	}
	maps.Copy(metadata, want.Metadata)
	want.Metadata = withEpoch(metadata, epoch)
	want.Description = cmp.Or(want.Description, have.Description)
	want.Compression = have.Compression
	if want.Placement == nil {
		want.Placement = have.Placement
	}
	return want
}

// withEpoch fills the epoch in, if there is a place for it: the given one, or a new one.
func withEpoch(metadata map[string]string, epoch string) map[string]string {
	if _, ok := metadata[EpochKey]; !ok {
		return metadata
	}
	if epoch == "" {
		var b [6]byte
		rand.Read(b[:]) // never fails
		epoch = hex.EncodeToString(b[:])
	}
	metadata = maps.Clone(metadata)
	metadata[EpochKey] = epoch
	return metadata
}
