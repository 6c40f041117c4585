package jet

import (
	"sync"
	"time"
)

// Memory is a JetStream server inside the process: the reference reading of
// [Stream] and [Consumer], for tests, simulations and a bot of one process.
//
// It answers as a single server does. It knows no time but the time package's
// and starts no goroutine, so that it runs in a testing/synctest bubble.
type Memory struct {
	mu      sync.Mutex
	streams map[string]*MemoryStream
	closed  bool
	changed chan struct{} // closed and replaced when something may wake a Pull
}

// NewMemory returns a server without streams.
func NewMemory() *Memory {
	return &Memory{streams: map[string]*MemoryStream{}, changed: make(chan struct{})}
}

// MemoryConfig is how a stream of a [Memory] behaves. The zero value keeps
// everything.
type MemoryConfig struct {
	// Metadata is what Info returns.
	Metadata map[string]string
	// Duplicates is how long a Nats-Msg-Id is remembered. Defaults to two minutes.
	Duplicates time.Duration
	// MaxAge removes messages older than that, zero none.
	MaxAge time.Duration
	// MaxPerSubject keeps only that many newest messages of a subject, zero all.
	MaxPerSubject int
	// MaxPayload bounds headers and data of a message, in bytes. Defaults to 1 MiB.
	MaxPayload int
}

// Stream returns the stream of that name, made if absent. The configuration
// counts only when it is made.
func (m *Memory) Stream(name string, cfg MemoryConfig) *MemoryStream {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.streams[name]
	if !ok {
		if cfg.Duplicates == 0 {
			cfg.Duplicates = 2 * time.Minute
		}
		if cfg.MaxPayload == 0 {
			cfg.MaxPayload = 1 << 20
		}
		s = &MemoryStream{
			server:    m,
			name:      name,
			cfg:       cfg,
			log:       newMemoryLog(),
			ids:       map[string]memoryID{},
			consumers: map[string]*memoryConsumer{},
		}
		m.streams[name] = s
	}
	return s
}

// Delete removes a stream with all it holds. Handles of it keep what they had;
// [Memory.Stream] makes a new one that begins at sequence one.
func (m *Memory) Delete(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.streams, name)
}

// Close ends every Pull and refuses every later call.
func (m *Memory) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.wake()
}

// wake lets every waiting Pull look again. It is called with mu held.
func (m *Memory) wake() {
	close(m.changed)
	m.changed = make(chan struct{})
}
