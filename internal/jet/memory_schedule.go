package jet

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/botmesh-go/botmesh"
)

// schedule has m published again later. It is called with the server's mu held.
func (s *MemoryStream) schedule(m *memoryMsg, at Schedule) {
	for old := s.log.lastOf(m.Subject); old != nil; old = s.log.lastOf(m.Subject) {
		s.log.remove(old)
	}
	m.kept = true
	time.AfterFunc(time.Until(at.At), func() {
		s.server.mu.Lock()
		defer s.server.mu.Unlock()
		if m.removed || s.server.closed {
			return
		}
		s.log.remove(m)
		fired := clone(m.Msg)
		fired.Subject = at.Target
		delete(fired.Header, nats.MsgIdHdr)
		s.log.add(&memoryMsg{Stored: Stored{Msg: fired, Time: time.Now()}})
		s.server.wake()
	})
}

// Purge removes all messages of a subject.
func (s *MemoryStream) Purge(ctx context.Context, subject string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("jet: purge: %w: %w", botmesh.ErrUnknown, err)
	}
	if _, err := s.lock(); err != nil {
		return fmt.Errorf("jet: purge: %w", err)
	}
	defer s.server.mu.Unlock()
	for m := s.log.lastOf(subject); m != nil; m = s.log.lastOf(subject) {
		s.log.remove(m)
	}
	return nil
}
