package jet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/botmesh-go/botmesh"
)

// MemoryStream is a stream of a [Memory].
type MemoryStream struct {
	server    *Memory // its mu guards everything below
	name      string
	cfg       MemoryConfig
	log       *memoryLog
	ids       map[string]memoryID
	idsSwept  time.Time
	consumers map[string]*memoryConsumer
}

type memoryID struct {
	seq uint64
	at  time.Time
}

var _ Stream = (*MemoryStream)(nil)

// Name is the stream's name.
func (s *MemoryStream) Name() string { return s.name }

// Publish stores one message. As a single server does, it looks at the expected
// sequence before the message id.
func (s *MemoryStream) Publish(ctx context.Context, p Publish) (Ack, error) {
	if err := ctx.Err(); err != nil {
		return Ack{}, fmt.Errorf("jet: publish: %w: %w", botmesh.ErrUnknown, err)
	}
	ttl, err := wholeSeconds(p.TTL)
	if err != nil {
		return Ack{}, err
	}
	if size := headerSize(p.Header) + len(p.Data); size > s.cfg.MaxPayload {
		return Ack{}, fmt.Errorf("jet: publish: %w: %d bytes, want at most %d", botmesh.ErrTooLarge, size, s.cfg.MaxPayload)
	}
	now, err := s.lock()
	if err != nil {
		return Ack{}, fmt.Errorf("jet: publish: %w", err)
	}
	defer s.server.mu.Unlock()
	if p.Expect != nil {
		var last uint64
		if m := s.log.lastOf(p.Subject); m != nil {
			last = m.Seq
		}
		if last != *p.Expect {
			return Ack{}, fmt.Errorf("jet: publish: %w: last sequence of the subject is %d, want %d", botmesh.ErrConflict, last, *p.Expect)
		}
	}
	id := p.Header.Get(nats.MsgIdHdr)
	if id != "" {
		s.forgetIDs(now)
		if known, ok := s.ids[id]; ok && now.Sub(known.at) < s.cfg.Duplicates {
			return Ack{Seq: known.seq, Duplicate: true}, nil
		}
	}
	m := &memoryMsg{Stored: Stored{Msg: clone(p.Msg), Time: now}}
	if ttl > 0 {
		m.ends = now.Add(ttl)
	}
	if p.Schedule != nil {
		s.schedule(m, *p.Schedule)
	}
	s.log.add(m)
	if id != "" {
		s.ids[id] = memoryID{m.Seq, now}
	}
	if of := s.log.bySubject[p.Subject]; s.cfg.MaxPerSubject > 0 && len(of) > s.cfg.MaxPerSubject {
		s.log.remove(of[0])
	}
	s.server.wake()
	return Ack{Seq: m.Seq}, nil
}

// Last returns the last message of a subject.
func (s *MemoryStream) Last(ctx context.Context, subject string) (Stored, error) {
	return s.read(ctx, func() *memoryMsg { return s.log.lastOf(subject) })
}

// Get returns the message at a sequence.
func (s *MemoryStream) Get(ctx context.Context, seq uint64) (Stored, error) {
	return s.read(ctx, func() *memoryMsg { return s.log.get(seq) })
}

// Next returns the first message at or after from on a subject.
func (s *MemoryStream) Next(ctx context.Context, subject string, from uint64) (Stored, error) {
	return s.read(ctx, func() *memoryMsg { return s.log.next(subject, from) })
}

// Range returns up to limit messages of a subject at or after from, in order.
func (s *MemoryStream) Range(ctx context.Context, subject string, from uint64, limit int) ([]Stored, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, err := s.lock(); err != nil {
		return nil, fmt.Errorf("jet: read: %w", err)
	}
	defer s.server.mu.Unlock()
	var of []Stored
	for len(of) < limit {
		m := s.log.next(subject, from)
		if m == nil {
			break
		}
		of, from = append(of, m.out()), m.Seq+1
	}
	return of, nil
}

// Info says what the stream is.
func (s *MemoryStream) Info(ctx context.Context) (Info, error) {
	if err := ctx.Err(); err != nil {
		return Info{}, err
	}
	if _, err := s.lock(); err != nil {
		return Info{}, fmt.Errorf("jet: info: %w", err)
	}
	defer s.server.mu.Unlock()
	info := Info{FirstSeq: s.log.last + 1, LastSeq: s.log.last, Messages: uint64(s.log.live), Metadata: maps.Clone(s.cfg.Metadata)}
	if m := s.log.first(); m != nil {
		info.FirstSeq = m.Seq
	}
	return info, nil
}

// Remove deletes the message at a sequence, as an operator may.
func (s *MemoryStream) Remove(seq uint64) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if m := s.log.get(seq); m != nil {
		s.log.remove(m)
	}
}

func (s *MemoryStream) read(ctx context.Context, find func() *memoryMsg) (Stored, error) {
	if err := ctx.Err(); err != nil {
		return Stored{}, err
	}
	if _, err := s.lock(); err != nil {
		return Stored{}, fmt.Errorf("jet: read: %w", err)
	}
	defer s.server.mu.Unlock()
	m := find()
	if m == nil {
		return Stored{}, fmt.Errorf("jet: read %s: %w", s.name, botmesh.ErrNotFound)
	}
	return m.out(), nil
}

// lock takes the server's lock and removes what has expired. Unless it returns an
// error the caller unlocks.
func (s *MemoryStream) lock() (now time.Time, err error) {
	s.server.mu.Lock()
	if s.server.closed {
		s.server.mu.Unlock()
		return now, fmt.Errorf("%w: %w", botmesh.ErrRefused, ErrClosed)
	}
	now = time.Now()
	s.log.expire(now, s.cfg.MaxAge)
	return now, nil
}

// forgetIDs drops the message ids past the duplicate window, once a window.
func (s *MemoryStream) forgetIDs(now time.Time) {
	if now.Sub(s.idsSwept) < s.cfg.Duplicates {
		return
	}
	s.idsSwept = now
	maps.DeleteFunc(s.ids, func(_ string, id memoryID) bool { return now.Sub(id.at) >= s.cfg.Duplicates })
}

func (m *memoryMsg) out() Stored {
	out := m.Stored
	out.Msg = clone(m.Msg)
	return out
}

func clone(m Msg) Msg {
	h := maps.Clone(m.Header)
	for k, v := range h {
		h[k] = slices.Clone(v)
	}
	return Msg{Subject: m.Subject, Header: h, Data: slices.Clone(m.Data)}
}

// headerSize is what headers take on the wire.
func headerSize(h nats.Header) int {
	if len(h) == 0 {
		return 0
	}
	n := len("NATS/1.0\r\n\r\n")
	for k, values := range h {
		for _, v := range values {
			n += len(k) + len(": ") + len(v) + len("\r\n")
		}
	}
	return n
}

// wholeSeconds rounds a time to live up to the second that the server counts in.
func wholeSeconds(ttl time.Duration) (time.Duration, error) {
	if ttl < 0 {
		return 0, fmt.Errorf("jet: publish: %w: time to live %v", botmesh.ErrRefused, ttl)
	}
	return (ttl + time.Second - 1).Truncate(time.Second), nil
}
