package dispatcher

import (
	"context"
	"sync"
)

// slots bound the runs of a replica. A lane woken from a wait goes before one
// that begins, so that a chat that has its turn is not kept waiting by new ones.
type slots struct {
	mu    sync.Mutex
	total int
	used  int
	woken []chan struct{}
	fresh []chan struct{}
	freed chan struct{} // has a token if a slot may have become free
}

func newSlots(n int) *slots {
	return &slots{total: n, freed: make(chan struct{}, 1)}
}

// acquire waits for a slot. It fails only with the context's cause.
func (s *slots) acquire(ctx context.Context, woken bool) error {
	s.mu.Lock()
	if s.used < s.total {
		s.used++
		s.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	if woken {
		s.woken = append(s.woken, mine)
	} else {
		s.fresh = append(s.fresh, mine)
	}
	s.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
		if !s.withdraw(mine) {
			s.release() // it was handed to us in the same moment
		}
		return context.Cause(ctx)
	}
}

func (s *slots) withdraw(mine chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range []*[]chan struct{}{&s.woken, &s.fresh} {
		for i, c := range *line {
			if c == mine {
				*line = append((*line)[:i], (*line)[i+1:]...)
				return true
			}
		}
	}
	return false
}

// release gives a slot to who waits first, or frees it.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range []*[]chan struct{}{&s.woken, &s.fresh} {
		if len(*line) > 0 {
			close((*line)[0])
			*line = (*line)[1:]
			return
		}
	}
	s.used--
	select {
	case s.freed <- struct{}{}:
	default:
	}
}

// contended reports whether a lane waits for a slot.
func (s *slots) contended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.woken)+len(s.fresh) > 0
}

// count returns the slots in use and in all.
func (s *slots) count() (used, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.total
}

// free waits until a slot is free and returns how many are. It fails only with
// the context's cause.
func (s *slots) free(ctx context.Context) (int, error) {
	for {
		if used, total := s.count(); used < total {
			return total - used, nil
		}
		select {
		case <-s.freed:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}
