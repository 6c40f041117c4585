package check

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// Dump reads all that a stream holds, from its leader. It fails if something was
// removed from the stream: then it would not be all.
func Dump(ctx context.Context, s jet.Stream) ([]jet.Stored, error) {
	info, err := s.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("check: dump: %w", err)
	}
	all := make([]jet.Stored, 0, info.Messages)
	for next := uint64(1); ; {
		m, err := s.Next(ctx, ">", next)
		if errors.Is(err, botmesh.ErrNotFound) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("check: dump %s from %d: %w", s.Name(), next, err)
		}
		if m.Seq != next {
			return nil, fmt.Errorf("check: dump %s: message %d is missing", s.Name(), next)
		}
		all, next = append(all, m), m.Seq+1
	}
	if got := uint64(len(all)); got < info.LastSeq {
		return nil, fmt.Errorf("check: dump %s: %d messages, want %d or more", s.Name(), got, info.LastSeq)
	}
	return all, nil
}

// Save keeps a dump in a file, a line a message, for [Restore].
func Save(file string, messages []jet.Stored) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("check: save: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buffered := bufio.NewWriter(f)
	lines := json.NewEncoder(buffered)
	for _, m := range messages {
		if err := lines.Encode(m); err != nil {
			return fmt.Errorf("check: save %s: %w", file, err)
		}
	}
	return buffered.Flush()
}

// Restore reads what [Save] kept.
func Restore(file string) (messages []jet.Stored, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("check: restore: %w", err)
	}
	defer f.Close()
	for lines := json.NewDecoder(bufio.NewReader(f)); ; {
		var m jet.Stored
		if err := lines.Decode(&m); errors.Is(err, io.EOF) {
			return messages, nil
		} else if err != nil {
			return nil, fmt.Errorf("check: restore %s: %w", file, err)
		}
		messages = append(messages, m)
	}
}
