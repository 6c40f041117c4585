package spool

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
	"go.etcd.io/bbolt"
	"golang.org/x/sync/errgroup"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

const (
	// drainTry bounds one try to publish what is kept.
	drainTry = 5 * time.Second
	// A batch is this many messages at most, and no more once it is this large.
	batchMessages, batchBytes = 512, 4 << 20
	// parallel bounds the chats that are published for at once.
	parallel = 64
)

// waiting is a message of a batch, and what came of it.
type waiting struct {
	key     []byte
	size    int64
	msg     jet.Msg
	done    bool
	refused bool // never to be taken
}

// keyOf is the n-th place in the order of arrival.
func keyOf(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// Run publishes what is kept, in its order, as soon as the stream takes it, until ctx
// ends. The error is nil then.
func (s *Spool) Run(ctx context.Context) error {
	pauses := backoff.NewExponentialBackOff(backoff.WithInitialInterval(100*time.Millisecond),
		backoff.WithMaxInterval(3*time.Second), backoff.WithMaxElapsedTime(0))
	for ctx.Err() == nil {
		n, err := s.batch(ctx)
		var again <-chan time.Time
		switch {
		case err != nil:
			s.trouble.Do(func() { s.log.Warn("what is kept on the disk is not journaled yet", "err", err) })
			again = time.After(pauses.NextBackOff())
		case n > 0:
			pauses.Reset()
			continue
		}
		grown := s.grown
		if again != nil {
			grown = nil // there is something anyway
		}
		select {
		case <-grown:
		case <-again:
		case <-ctx.Done():
		}
	}
	return nil
}

// Flush publishes what is kept until nothing is, the stream does not take it, or ctx
// ends. It is for after Run.
func (s *Spool) Flush(ctx context.Context) error {
	for {
		if n, err := s.batch(ctx); n == 0 || err != nil {
			return err
		}
	}
}

// batch publishes the first messages, and returns how many there were. Those of a
// subject go one after the other. A crash between a publish and its removal repeats it,
// under the same message id.
func (s *Spool) batch(ctx context.Context) (int, error) {
	all, err := s.first()
	if err != nil || len(all) == 0 {
		return 0, err
	}
	err = s.publish(ctx, all)
	return len(all), errors.Join(err, s.remove(all))
}

func (s *Spool) first() (all []*waiting, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		c, size := tx.Bucket(waitingBucket).Cursor(), 0
		for k, v := c.First(); k != nil && len(all) < batchMessages && size < batchBytes; k, v = c.Next() {
			var m kept
			if err := json.Unmarshal(v, &m); err != nil {
				return fmt.Errorf("spool: message %d: %w", binary.BigEndian.Uint64(k), err)
			}
			all = append(all, &waiting{key: append([]byte(nil), k...), size: int64(len(v)), msg: jet.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}})
			size += len(v)
		}
		return nil
	})
	return all, err
}

func (s *Spool) publish(ctx context.Context, all []*waiting) error {
	subjects := map[string][]*waiting{}
	for _, w := range all {
		subjects[w.msg.Subject] = append(subjects[w.msg.Subject], w)
	}
	ctx, cancel := context.WithTimeout(ctx, drainTry)
	defer cancel()
	var group errgroup.Group // not of ctx: one chat's failure stops no other chat
	group.SetLimit(parallel)
	for _, of := range subjects {
		group.Go(func() error { return s.inOrder(ctx, of) })
	}
	return group.Wait()
}

// inOrder publishes the messages of one subject, until one is not taken.
func (s *Spool) inOrder(ctx context.Context, of []*waiting) error {
	for _, w := range of {
		_, err := s.Stream.Publish(ctx, jet.Publish{Msg: w.msg})
		switch {
		case err == nil:
			w.done = true
		case errors.Is(err, botmesh.ErrTooLarge):
			s.log.Error("a message on the disk will never be journaled, it stays there", "subject", w.msg.Subject, "err", err)
			w.refused = true
		default:
			return err
		}
	}
	return nil
}

// remove takes what was published out of the file, and sets aside what never will be.
func (s *Spool) remove(all []*waiting) error {
	var messages, refused int
	var bytes int64
	err := s.db.Update(func(tx *bbolt.Tx) error {
		from, aside := tx.Bucket(waitingBucket), tx.Bucket(refusedBucket)
		for _, w := range all {
			if !w.done && !w.refused {
				continue
			}
			if w.refused {
				if err := aside.Put(w.key, from.Get(w.key)); err != nil {
					return err
				}
				refused++
			}
			if err := from.Delete(w.key); err != nil {
				return err
			}
			messages, bytes = messages+1, bytes+w.size
		}
		return nil
	})
	if err != nil || messages == 0 {
		return err
	}
	s.mu.Lock()
	s.is.Refused += refused
	s.mu.Unlock()
	s.release(messages, bytes)
	return nil
}
