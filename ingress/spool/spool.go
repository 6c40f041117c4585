package spool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
	"golang.org/x/time/rate"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/telemetry"
)

const (
	// DefaultMaxBytes is how much a Spool keeps if nothing else is said: 256 MiB.
	DefaultMaxBytes = 256 << 20
	// tryTime bounds the wait for the stream before a message is kept.
	tryTime = 500 * time.Millisecond
	// syncDelay is how long a message waits for others to be synced with it.
	syncDelay = 2 * time.Millisecond
	// lockTime bounds the wait for another process to let go of the directory.
	lockTime = time.Second
	// logEvery bounds how often the same trouble is logged.
	logEvery = 10 * time.Second

	file = "spool.db"
)

var (
	waitingBucket = []byte("waiting") // in the order in which they came
	refusedBucket = []byte("refused") // what the stream will never take, for who looks
)

// ErrFull says that a Spool keeps as much as it may.
var ErrFull = errors.New("spool: full")

// Config configures a [Spool].
type Config struct {
	// Stream is what is written to. Required.
	Stream jet.Stream
	// Dir is where messages are kept, made if absent; of this process alone. Required.
	Dir string
	// MaxBytes bounds what is kept. Defaults to [DefaultMaxBytes]. The file may be half as
	// large again, and does not shrink.
	MaxBytes int64
	// Logger is told when messages begin to be kept and when all are gone. Defaults to none.
	Logger *slog.Logger
}

// Status is what a Spool keeps.
type Status struct {
	// Messages and Bytes wait for the stream.
	Messages int   `json:"messages"`
	Bytes    int64 `json:"bytes"`
	// Since is when the first of them was kept, or found when the process began.
	Since time.Time `json:"since,omitzero"`
	// Full says that a message did not fit, and that none has gone since.
	Full bool `json:"full,omitempty"`
	// Refused counts what the stream will never take. It stays in the file.
	Refused int `json:"refused,omitempty"`
}

// Spool is a stream that keeps what it can not publish. Only publishes without a
// condition are kept; all else is the stream's. Safe for concurrent use. Make one with
// [Open], call [Spool.Run] once, then [Spool.Close].
type Spool struct {
	jet.Stream
	max     int64
	log     *slog.Logger
	db      *bbolt.DB
	grown   chan struct{}
	trouble rate.Sometimes

	mu sync.Mutex
	is Status
}

// kept is a message on the disk.
type kept struct {
	Subject string              `json:"subject"`
	Header  map[string][]string `json:"header,omitempty"`
	Data    []byte              `json:"data"`
}

// Open opens the spool in a directory, with what an earlier process left in it. It fails
// if another process has it open, or if the file can not be read.
func Open(cfg Config) (*Spool, error) {
	switch {
	case cfg.Stream == nil:
		return nil, errors.New("spool: no Stream")
	case cfg.Dir == "":
		return nil, errors.New("spool: no Dir")
	case cfg.MaxBytes < 0:
		return nil, errors.New("spool: MaxBytes must not be negative")
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	path := filepath.Join(cfg.Dir, file)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockTime, FreelistType: bbolt.FreelistMapType})
	switch {
	case errors.Is(err, bbolterrors.ErrTimeout):
		return nil, fmt.Errorf("spool: %s is open in another process: each needs a directory of its own", path)
	case err != nil:
		return nil, fmt.Errorf("spool: %s can not be read, move it away to begin a new one (what it holds is then not journaled): %w", path, err)
	}
	db.MaxBatchDelay = syncDelay
	s := &Spool{
		Stream: cfg.Stream, max: cmp.Or(cfg.MaxBytes, DefaultMaxBytes), db: db,
		log:   cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
		grown: make(chan struct{}, 1), trouble: rate.Sometimes{Interval: logEvery},
	}
	if err := s.find(); err != nil {
		return nil, errors.Join(fmt.Errorf("spool: reading %s: %w", path, err), db.Close())
	}
	return s, nil
}

// find counts what is there.
func (s *Spool) find() error {
	err := s.db.Update(func(tx *bbolt.Tx) error {
		waiting, err := tx.CreateBucketIfNotExists(waitingBucket)
		if err != nil {
			return err
		}
		refused, err := tx.CreateBucketIfNotExists(refusedBucket)
		if err != nil {
			return err
		}
		s.is.Refused = refused.Stats().KeyN
		return waiting.ForEach(func(_, v []byte) error {
			s.is.Messages++
			s.is.Bytes += int64(len(v))
			return nil
		})
	})
	if s.is.Messages > 0 {
		s.is.Since = time.Now()
		s.log.Warn("messages of an earlier process wait on the disk", "messages", s.is.Messages)
		telemetry.Spooled.Add(context.Background(), int64(s.is.Messages))
	}
	return err
}

// Status returns what is kept now.
func (s *Spool) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.is
}

// Publish has the stream take a message, or keeps it. A nil error means that one of the
// two is done; a kept message has no sequence yet.
//
// Errors are as of [jet.Stream]. If it can not be kept either, the error is
// botmesh.ErrRefused with [ErrFull], or botmesh.ErrUnknown if the disk failed.
func (s *Spool) Publish(ctx context.Context, p jet.Publish) (jet.Ack, error) {
	if p.Expect != nil || p.TTL != 0 || p.Schedule != nil {
		return s.Stream.Publish(ctx, p)
	}
	var cause error
	if s.Status().Messages == 0 {
		try, cancel := context.WithTimeout(ctx, tryTime)
		defer cancel()
		ack, err := s.Stream.Publish(try, p)
		refused := errors.Is(err, botmesh.ErrRefused) && !errors.Is(err, botmesh.ErrTooLarge)
		if !refused && !errors.Is(err, botmesh.ErrUnknown) {
			return ack, err
		}
		cause = err
	}
	return jet.Ack{}, s.keep(p.Msg, cause)
}

// keep writes a message to the disk. A crash before the sync leaves nothing, and the
// platform has no answer; one after it leaves the message to the next process.
func (s *Spool) keep(m jet.Msg, cause error) error {
	value, err := json.Marshal(kept{m.Subject, m.Header, m.Data})
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	if err := s.reserve(int64(len(value)), cause); err != nil {
		return err
	}
	err = s.db.Batch(func(tx *bbolt.Tx) error {
		b := tx.Bucket(waitingBucket)
		n, err := b.NextSequence()
		if err != nil {
			return err
		}
		return b.Put(keyOf(n), value)
	})
	if err != nil {
		s.release(1, int64(len(value)))
		s.trouble.Do(func() { s.log.Error("a message could not be kept on the disk", "err", err) })
		return fmt.Errorf("%w: spool: %w", botmesh.ErrUnknown, err)
	}
	select {
	case s.grown <- struct{}{}:
	default:
	}
	return nil
}

// reserve counts a message before it is written, so that those after it are kept too.
func (s *Spool) reserve(size int64, cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.is.Bytes+size > s.max {
		s.is.Full = true
		s.trouble.Do(func() {
			s.log.Error("the spool is full, webhooks are refused", "messages", s.is.Messages, "bytes", s.is.Bytes)
		})
		return fmt.Errorf("%w: %w with %d messages", botmesh.ErrRefused, ErrFull, s.is.Messages)
	}
	if s.is.Messages == 0 {
		s.is.Since = time.Now()
		s.log.Warn("messages are kept on the disk, the journal does not take them", "err", cause)
	}
	s.is.Messages++
	s.is.Bytes += size
	telemetry.Spooled.Add(context.Background(), 1)
	return nil
}

// release counts messages that wait no longer.
func (s *Spool) release(messages int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.is.Messages -= messages
	s.is.Bytes -= bytes
	s.is.Full = false
	telemetry.Spooled.Add(context.Background(), int64(-messages))
	if s.is.Messages == 0 {
		s.log.Info("no message waits on the disk any more", "since", s.is.Since)
		s.is.Since = time.Time{}
	}
}

// Close closes the file. What is in it waits for the next process.
func (s *Spool) Close() error {
	if n := s.Status().Messages; n > 0 {
		s.log.Warn("messages stay on the disk for the next process", "messages", n)
	}
	return s.db.Close()
}
