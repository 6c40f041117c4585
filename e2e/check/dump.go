package check

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

const (
	// dumpedAtOnce is how many messages are asked for beside each other, and dumpChunk
	// how many are in memory until they are told in order.
	dumpedAtOnce = 16
	dumpChunk    = 512
)

// Dump reads all that a stream holds when it begins, from its leader, and tells each
// message, in order. It returns the places at which nothing stands.
func Dump(ctx context.Context, s jet.Stream, tell func(jet.Stored) error) (gone []uint64, err error) {
	info, err := s.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("check: dump: %w", err)
	}
	for next := uint64(1); next <= info.LastSeq; next += dumpChunk {
		chunk := make([]jet.Stored, min(dumpChunk, info.LastSeq-next+1))
		if err := fetch(ctx, s, next, chunk); err != nil {
			return nil, err
		}
		for i, m := range chunk {
			if m.Seq == 0 {
				gone = append(gone, next+uint64(i))
				continue
			}
			if err := tell(m); err != nil {
				return nil, fmt.Errorf("check: dump %s: %w", s.Name(), err)
			}
		}
	}
	return gone, nil
}

// pause waits before a read is made again, and is false if ctx ends first.
func pause(ctx context.Context) bool {
	select {
	case <-time.After(100 * time.Millisecond):
		return true
	case <-ctx.Done():
		return false
	}
}

// fetch reads the messages from a place on, and leaves out those that are gone. A read
// that fails is made again until ctx ends: the servers may be busy.
func fetch(ctx context.Context, s jet.Stream, from uint64, into []jet.Stored) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(dumpedAtOnce)
	for i := range into {
		g.Go(func() error {
			for {
				m, err := s.Get(ctx, from+uint64(i))
				switch {
				case err == nil:
					into[i] = m
					return nil
				case errors.Is(err, botmesh.ErrNotFound):
					return nil
				case !pause(ctx):
					return fmt.Errorf("check: dump %s: message %d: %w", s.Name(), from+uint64(i), err)
				}
			}
		})
	}
	return g.Wait()
}

// Save keeps a dump in a file, a line a message, for [Restore]. It returns the places
// at which nothing stands.
func Save(ctx context.Context, s jet.Stream, file string) (gone []uint64, err error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, fmt.Errorf("check: save: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buffered := bufio.NewWriter(f)
	lines := json.NewEncoder(buffered)
	gone, err = Dump(ctx, s, func(m jet.Stored) error { return lines.Encode(m) })
	return gone, errors.Join(err, buffered.Flush())
}

// subjectField begins the field of a line that Save wrote which holds the subject.
var subjectField = []byte(`"Subject":"`)

// Restore reads of what [Save] kept the messages whose subjects are wanted.
func Restore(file string, want func(subject string) bool) (messages []jet.Stored, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("check: restore: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		_, rest, _ := bytes.Cut(lines.Bytes(), subjectField)
		subject, _, _ := bytes.Cut(rest, []byte(`"`))
		if !want(string(subject)) {
			continue
		}
		var m jet.Stored
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return nil, fmt.Errorf("check: restore %s: %w", file, err)
		}
		messages = append(messages, m)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("check: restore %s: %w", file, err)
	}
	return messages, nil
}
