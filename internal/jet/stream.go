package jet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// stream is a stream on a server.
type stream struct {
	conn      *Conn
	name      string
	getFrom   string // subject of reads from the leader
	rangeFrom string // subject of reads from any replica
	ackBegin  []byte // how an acknowledgement begins
	direct    atomic.Int32
}

var _ Stream = (*stream)(nil)

func newStream(c *Conn, name string) *stream {
	return &stream{
		conn:      c,
		name:      name,
		getFrom:   "$JS.API.STREAM.MSG.GET." + name,
		rangeFrom: "$JS.API.DIRECT.GET." + name,
		ackBegin:  []byte(`{"stream":"` + name + `","seq":`),
	}
}

func (s *stream) Name() string { return s.name }

// Publish makes exactly one request. The client's own publish repeats a message
// that nobody took; here that is the caller's to decide.
func (s *stream) Publish(ctx context.Context, p Publish) (Ack, error) {
	m, err := p.message()
	if err != nil {
		return Ack{}, err
	}
	began := time.Now()
	answer, err := s.conn.requests.one(ctx, m, s.conn.cfg.Timeout)
	if err != nil {
		s.conn.unanswered(began, err)
		return Ack{}, fmt.Errorf("jet: publish %s to %s: %w", p.Subject, s.name, writeFailed(err))
	}
	s.conn.health.answered()
	ack, err := s.readAck(answer.Data)
	if err != nil {
		return Ack{}, fmt.Errorf("jet: publish %s to %s: %w", p.Subject, s.name, err)
	}
	return ack, nil
}

// readAck reads the server's word about a publish.
func (s *stream) readAck(data []byte) (Ack, error) {
	// Nearly all of them look like {"stream":"NAME","seq":7}.
	if digits, ok := bytes.CutPrefix(data, s.ackBegin); ok {
		if digits, ok = bytes.CutSuffix(digits, []byte("}")); ok {
			if seq, err := strconv.ParseUint(string(digits), 10, 64); err == nil && seq > 0 {
				return Ack{Seq: seq}, nil
			}
		}
	}
	var ack struct {
		Error     *jetstream.APIError `json:"error"`
		Stream    string              `json:"stream"`
		Seq       uint64              `json:"seq"`
		Duplicate bool                `json:"duplicate"`
	}
	switch err := json.Unmarshal(data, &ack); {
	case err != nil:
		return Ack{}, writeFailed(err)
	case ack.Error != nil:
		return Ack{}, writeRefused(ack.Error)
	case ack.Stream != s.name || ack.Seq == 0:
		return Ack{}, writeFailed(fmt.Errorf("it was stored in stream %q at %d", ack.Stream, ack.Seq))
	}
	return Ack{Seq: ack.Seq, Duplicate: ack.Duplicate}, nil
}

// message is p as it goes over the wire. The caller's headers stay as they are.
func (p Publish) message() (*nats.Msg, error) {
	ttl, err := wholeSeconds(p.TTL)
	if err != nil {
		return nil, err
	}
	m := &nats.Msg{Subject: p.Subject, Header: p.Header, Data: p.Data}
	if p.Expect == nil && ttl == 0 && p.Schedule == nil {
		return m, nil
	}
	m.Header = make(nats.Header, len(p.Header)+3)
	maps.Copy(m.Header, p.Header)
	if p.Expect != nil {
		m.Header[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(*p.Expect, 10)}
	}
	if ttl > 0 {
		m.Header[jetstream.MsgTTLHeader] = []string{strconv.FormatInt(int64(ttl/time.Second), 10)}
	}
	if s := p.Schedule; s != nil {
		// Of whole seconds the server takes some up to one too early.
		m.Header[jetstream.ScheduleHeader] = []string{"@at " + s.At.UTC().Format(time.RFC3339Nano)}
		m.Header[jetstream.ScheduleTargetHeader] = []string{s.Target}
		m.Header[jetstream.MsgTTLHeader] = []string{"never"} // else the age limit removes it unfired
	}
	return m, nil
}

// Purge makes exactly one request.
func (s *stream) Purge(ctx context.Context, subject string) error {
	question, err := json.Marshal(struct {
		Filter string `json:"filter"`
	}{subject})
	if err != nil {
		return fmt.Errorf("jet: purge %s: %w", subject, err)
	}
	began := time.Now()
	answer, err := s.conn.requests.one(ctx, &nats.Msg{Subject: "$JS.API.STREAM.PURGE." + s.name, Data: question}, s.conn.cfg.Timeout)
	if err != nil {
		s.conn.unanswered(began, err)
		return fmt.Errorf("jet: purge %s of %s: %w", subject, s.name, writeFailed(err))
	}
	var done struct {
		Error *jetstream.APIError `json:"error"`
	}
	switch err := json.Unmarshal(answer.Data, &done); {
	case err != nil:
		return fmt.Errorf("jet: purge %s of %s: %w", subject, s.name, writeFailed(err))
	case done.Error != nil:
		return fmt.Errorf("jet: purge %s of %s: %w", subject, s.name, writeRefused(done.Error))
	}
	return nil
}

// unanswered notes a publish that no answer came to. Only one that waited for long
// tells something of the server; the caller's own time may have been short.
func (c *Conn) unanswered(began time.Time, err error) {
	if !errors.Is(err, errTimeout) && !errors.Is(err, context.DeadlineExceeded) || time.Since(began) < c.cfg.Timeout/2 {
		return
	}
	if c.health.timedOut(began) {
		c.cfg.Logger.Warn("nats publishes time out, connecting anew", "server", c.nc.ConnectedServerName())
		_ = c.nc.ForceReconnect() // it fails only when closed
	}
}

// getRequest asks for one message, or from a replica for several.
type getRequest struct {
	Seq    uint64 `json:"seq,omitempty"`
	LastBy string `json:"last_by_subj,omitempty"`
	NextBy string `json:"next_by_subj,omitempty"`
	Batch  int    `json:"batch,omitempty"`
}

func (s *stream) Last(ctx context.Context, subject string) (Stored, error) {
	return s.get(ctx, getRequest{LastBy: subject})
}

func (s *stream) Get(ctx context.Context, seq uint64) (Stored, error) {
	return s.get(ctx, getRequest{Seq: seq})
}

func (s *stream) Next(ctx context.Context, subject string, from uint64) (Stored, error) {
	return s.get(ctx, getRequest{NextBy: subject, Seq: max(from, 1)})
}

// get asks the stream's leader: only it answers.
func (s *stream) get(ctx context.Context, r getRequest) (Stored, error) {
	question, err := json.Marshal(r)
	if err != nil {
		return Stored{}, fmt.Errorf("jet: read %s: %w", s.name, err)
	}
	answer, err := s.conn.requests.one(ctx, &nats.Msg{Subject: s.getFrom, Data: question}, s.conn.cfg.Timeout)
	if err != nil {
		return Stored{}, fmt.Errorf("jet: read %s: %w", s.name, readFailed(ctx, err))
	}
	var got struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Subject string    `json:"subject"`
			Seq     uint64    `json:"seq"`
			Headers []byte    `json:"hdrs"`
			Data    []byte    `json:"data"`
			Time    time.Time `json:"time"`
		} `json:"message"`
	}
	if err := json.Unmarshal(answer.Data, &got); err != nil {
		return Stored{}, fmt.Errorf("jet: read %s: %w", s.name, readFailed(ctx, err))
	}
	if got.Error != nil {
		return Stored{}, fmt.Errorf("jet: read %s: %w", s.name, readRefused(got.Error))
	}
	m := Stored{Msg: Msg{Subject: got.Message.Subject, Data: got.Message.Data}, Seq: got.Message.Seq, Time: got.Message.Time}
	if len(got.Message.Headers) > 0 {
		if m.Header, err = nats.DecodeHeadersMsg(got.Message.Headers); err != nil {
			return Stored{}, fmt.Errorf("jet: read %s: message %d: %w", s.name, m.Seq, err)
		}
	}
	return m, nil
}

func (s *stream) Info(ctx context.Context) (Info, error) {
	info, err := s.info(ctx)
	if err != nil {
		return Info{}, err
	}
	return Info{
		FirstSeq: info.State.FirstSeq,
		LastSeq:  info.State.LastSeq,
		Messages: info.State.Msgs,
		Metadata: info.Config.Metadata,
	}, nil
}

func (s *stream) info(ctx context.Context) (*jetstream.StreamInfo, error) {
	answer, err := s.conn.requests.one(ctx, &nats.Msg{Subject: "$JS.API.STREAM.INFO." + s.name}, s.conn.cfg.Timeout)
	if err != nil {
		return nil, fmt.Errorf("jet: info of %s: %w", s.name, readFailed(ctx, err))
	}
	var got struct {
		Error *jetstream.APIError `json:"error"`
		jetstream.StreamInfo
	}
	switch err := json.Unmarshal(answer.Data, &got); {
	case err != nil:
		return nil, fmt.Errorf("jet: info of %s: %w", s.name, readFailed(ctx, err))
	case got.Error != nil:
		return nil, fmt.Errorf("jet: info of %s: %w", s.name, readRefused(got.Error))
	}
	return &got.StreamInfo, nil
}
