package jet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
)

// Whether a stream allows direct reads, as far as known.
const (
	directUnknown int32 = iota
	directAllowed
	directOff
)

func (s *stream) Range(ctx context.Context, subject string, from uint64, limit int) ([]Stored, error) {
	if limit <= 0 {
		return nil, nil
	}
	direct := s.direct.Load()
	if direct == directUnknown {
		info, err := s.info(ctx)
		if err != nil {
			return nil, err
		}
		direct = directOff
		if info.Config.AllowDirect {
			direct = directAllowed
		}
		s.direct.Store(direct)
	}
	if direct == directOff {
		return s.leaderRange(ctx, subject, from, limit)
	}
	of, err := s.directRange(ctx, getRequest{NextBy: subject, Seq: max(from, 1), Batch: limit})
	if errors.Is(err, nats.ErrNoResponders) {
		s.direct.Store(directUnknown) // it may have been switched off
	}
	if err != nil {
		return nil, fmt.Errorf("jet: read %s: %w", s.name, err)
	}
	return of, nil
}

// leaderRange reads one message after the other.
func (s *stream) leaderRange(ctx context.Context, subject string, from uint64, limit int) ([]Stored, error) {
	var of []Stored
	for len(of) < limit {
		m, err := s.Next(ctx, subject, from)
		if errors.Is(err, botmesh.ErrNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		of, from = append(of, m), m.Seq+1
	}
	return of, nil
}

// directRange asks whichever replica answers. All its answers come for one
// question; the last message tells that none is left.
func (s *stream) directRange(ctx context.Context, r getRequest) ([]Stored, error) {
	question, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, err := s.conn.requests.send(&nats.Msg{Subject: s.rangeFrom, Data: question}, r.Batch+1)
	if err != nil {
		return nil, readFailed(ctx, err)
	}
	defer s.conn.requests.done(c)
	timer := time.NewTimer(s.conn.cfg.Timeout)
	defer timer.Stop()
	var of []Stored
	for len(of) < r.Batch {
		answer, err := c.next(ctx, timer.C)
		if err != nil {
			return nil, readFailed(ctx, err)
		}
		switch code := status(answer); code {
		case "":
		case statusEnd, statusNotFound:
			return of, nil
		default:
			return nil, Unread(fmt.Errorf("%s %s", code, answer.Header.Get("Description")))
		}
		m, left, err := directMessage(answer)
		if err != nil {
			return nil, readFailed(ctx, err)
		}
		if of = append(of, m); left == 0 {
			break
		}
	}
	return of, nil
}

// directMessage takes a message out of an answer, and how many are left behind it.
func directMessage(answer *nats.Msg) (m Stored, left uint64, err error) {
	h := answer.Header
	take := func(key string) string { // the server's is the last, behind what the message had itself
		v := h[key]
		delete(h, key)
		if len(v) == 0 {
			return ""
		}
		return v[len(v)-1]
	}
	if m.Seq, err = strconv.ParseUint(take(jetstream.SequenceHeader), 10, 64); err != nil {
		return m, 0, fmt.Errorf("sequence of an answer: %w", err)
	}
	if m.Time, err = time.Parse(time.RFC3339Nano, take(jetstream.TimeStampHeaer)); err != nil {
		return m, 0, fmt.Errorf("time of an answer: %w", err)
	}
	if left, err = strconv.ParseUint(take("Nats-Num-Pending"), 10, 64); err != nil {
		return m, 0, fmt.Errorf("count left behind an answer: %w", err)
	}
	m.Subject = take(jetstream.SubjectHeader)
	take(jetstream.StreamHeader)
	take("Nats-Last-Sequence")
	if len(h) == 0 {
		h = nil
	}
	m.Header, m.Data = h, answer.Data
	return m, left, nil
}
