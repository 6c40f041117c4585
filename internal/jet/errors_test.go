package jet

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
)

// kinds are all answers that an error can be.
var kinds = []error{botmesh.ErrConflict, botmesh.ErrRefused, botmesh.ErrTooLarge, botmesh.ErrUnknown, botmesh.ErrNotFound}

// wantKinds checks that err is of exactly these kinds and still wraps its cause.
func wantKinds(t *testing.T, err, cause error, want ...error) {
	t.Helper()
	for _, kind := range kinds {
		is := false
		for _, w := range want {
			is = is || w == kind
		}
		if errors.Is(err, kind) != is {
			t.Errorf("%v for %v: is %q: got %v, want %v", err, cause, kind, !is, is)
		}
	}
	if !errors.Is(err, cause) {
		t.Errorf("%v does not wrap %v", err, cause)
	}
}

// DESIGN C8. Each word of the server and each fault of the client has one meaning
// for a write.
func TestWriteErrors(t *testing.T) {
	t.Parallel()
	for code, want := range map[jetstream.ErrorCode][]error{
		10071: {botmesh.ErrConflict},
		10164: {botmesh.ErrConflict},
		10158: {botmesh.ErrUnknown},
		10054: {botmesh.ErrRefused, botmesh.ErrTooLarge},
		10097: {botmesh.ErrRefused, botmesh.ErrTooLarge},
		10163: {botmesh.ErrRefused},
		10077: {botmesh.ErrRefused},
		10008: {botmesh.ErrRefused},
		10167: {botmesh.ErrRefused},
		10060: {botmesh.ErrRefused},
		10166: {botmesh.ErrRefused},
		65000: {botmesh.ErrRefused},
	} {
		e := &jetstream.APIError{ErrorCode: code}
		wantKinds(t, writeRefused(e), e, want...)
	}
	for cause, want := range map[error][]error{
		nats.ErrNoResponders:         {botmesh.ErrRefused},
		nats.ErrReconnectBufExceeded: {botmesh.ErrRefused},
		nats.ErrConnectionClosed:     {botmesh.ErrRefused},
		nats.ErrConnectionDraining:   {botmesh.ErrRefused},
		nats.ErrBadSubject:           {botmesh.ErrRefused},
		nats.ErrMaxPayload:           {botmesh.ErrRefused, botmesh.ErrTooLarge},
		nats.ErrTimeout:              {botmesh.ErrUnknown},
		nats.ErrDisconnected:         {botmesh.ErrUnknown},
		errTimeout:                   {botmesh.ErrUnknown},
		errLost:                      {botmesh.ErrUnknown},
		context.Canceled:             {botmesh.ErrUnknown},
		context.DeadlineExceeded:     {botmesh.ErrUnknown},
		errors.New("broken pipe"):    {botmesh.ErrUnknown},
	} {
		wantKinds(t, writeFailed(cause), cause, want...)
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	for code, want := range map[jetstream.ErrorCode][]error{
		10037: {botmesh.ErrNotFound},
		10059: {botmesh.ErrRefused},
		10008: {botmesh.ErrRefused},
	} {
		e := &jetstream.APIError{ErrorCode: code}
		wantKinds(t, readRefused(e), e, want...)
	}
	wantKinds(t, readFailed(t.Context(), nats.ErrNoResponders), nats.ErrNoResponders, botmesh.ErrRefused)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	wantKinds(t, readFailed(ended, context.Canceled), context.Canceled)
	wantKinds(t, readFailed(t.Context(), errTimeout), errTimeout, botmesh.ErrRefused)
}

// An operator is told in plain words, and of writing only where something was to
// be written.
func TestErrorsAreTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{writeFailed(nats.ErrReconnectBufExceeded), "botmesh: refused: nothing was written: not connected to NATS"},
		{readFailed(t.Context(), nats.ErrReconnectBufExceeded), "botmesh: not answered: not connected to NATS"},
		{readFailed(t.Context(), nats.ErrNoResponders), "botmesh: not answered: nobody answers for the stream: is it there, is JetStream on?"},
		{apiFailed(t.Context(), jetstream.ErrJetStreamNotEnabled), "botmesh: not answered: nobody answers for the stream: is it there, is JetStream on?"},
		{readFailed(t.Context(), errTimeout), "botmesh: not answered: jet: no answer within the timeout"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestAcknowledgements(t *testing.T) {
	t.Parallel()
	s := newStream(nil, "S")
	for data, want := range map[string]Ack{
		`{"stream":"S","seq":7}`:                      {Seq: 7},
		`{"stream":"S","seq":7,"duplicate":true}`:     {Seq: 7, Duplicate: true},
		`{"stream":"S","domain":"hub","seq":7}`:       {Seq: 7},
		`{"stream":"S", "seq":18446744073709551615}`:  {Seq: 1<<64 - 1},
		`{"stream":"S","seq":18446744073709551615}`:   {Seq: 1<<64 - 1},
		`{"type":"x","stream":"S","seq":7,"new":"y"}`: {Seq: 7},
	} {
		if got, err := s.readAck([]byte(data)); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", data, got, err, want)
		}
	}
	for _, data := range []string{
		``, `{}`, `+OK`, `{"stream":"S","seq":0}`, `{"stream":"S","seq":}`, `{"stream":"S","seq":7`, `{"stream":"T","seq":7}`, `{"stream":"S","seq":-7}`,
	} {
		if got, err := s.readAck([]byte(data)); !errors.Is(err, botmesh.ErrUnknown) {
			t.Errorf("%s: got %+v, %v, want ErrUnknown", data, got, err)
		}
	}
	if _, err := s.readAck([]byte(`{"error":{"code":400,"err_code":10071},"stream":"S","seq":0}`)); !errors.Is(err, botmesh.ErrConflict) {
		t.Errorf("got %v, want ErrConflict", err)
	}
}

func TestTimeToLiveIsRoundedUp(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[time.Duration]string{
		0: "", 1: "1", time.Second: "1", time.Second + 1: "2", 1500 * time.Millisecond: "2", time.Hour: "3600",
	} {
		m, err := Publish{TTL: ttl}.message()
		if got := m.Header.Get(jetstream.MsgTTLHeader); err != nil || got != want {
			t.Errorf("%v: got %q, %v, want %q", ttl, got, err, want)
		}
	}
	if _, err := (Publish{TTL: -1}).message(); !errors.Is(err, botmesh.ErrRefused) {
		t.Errorf("a negative time to live: got %v, want ErrRefused", err)
	}
}

// Both forms of the subject on which a delivery is acknowledged.
func TestDeliveryPlace(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 1, 0, 0, 0, 5, time.UTC)
	end := fmt.Sprintf("S.c.3.17.9.%d.4", at.UnixNano())
	for _, reply := range []string{"$JS.ACK." + end, "$JS.ACK._.hash." + end, "$JS.ACK.hub.hash." + end + ".token"} {
		var d Delivery
		if err := d.place(reply); err != nil || d.Delivered != 3 || d.Seq != 17 || !d.Time.Equal(at) {
			t.Errorf("%s: got delivery %d of %d at %v, %v, want 3 of 17 at %v", reply, d.Delivered, d.Seq, d.Time, err, at)
		}
	}
	for _, reply := range []string{"", "_INBOX.x", "$JS.ACK.S.c.3.17.9", "$JS.ACK.S.c.x.17.9.1.4", "$JS.ACK.S.c.3.17.9.x.4"} {
		if err := new(Delivery).place(reply); err == nil {
			t.Errorf("%q: got no error", reply)
		}
	}
}

// A pull request asks for heartbeats only where the server allows them, and has
// room for every answer.
func TestPullRequests(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{-1, 0, time.Millisecond, time.Second - 1, time.Second, 5 * time.Second, time.Hour} {
		r := newPullRequest(10, wait)
		switch {
		case r.NoWait != (wait <= 0), r.Expires != max(wait, 0):
			t.Errorf("%v: got no-wait %v, expires %v", wait, r.NoWait, r.Expires)
		case r.Heartbeat*2 > wait && r.Heartbeat > 0:
			t.Errorf("%v: got a heartbeat every %v, want at most half the wait", wait, r.Heartbeat)
		case wait >= time.Second && (r.Heartbeat == 0 || r.Heartbeat > 2*time.Second):
			t.Errorf("%v: got a heartbeat every %v, want one each two seconds at least", wait, r.Heartbeat)
		}
		beats := 0
		if r.Heartbeat > 0 {
			beats = int(wait / r.Heartbeat)
		}
		if r.answers() < 10+beats+1 {
			t.Errorf("%v: got room for %d answers, want 10 messages, %d heartbeats and the end", wait, r.answers(), beats)
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, subject string
		want             bool
	}{
		{"", "a.b", true}, {"a.b", "a.b", true}, {"a.b", "a.c", false}, {"a", "a.b", false}, {"a.b", "a", false},
		{"*", "a", true}, {"*", "a.b", false}, {"a.*", "a.b", true}, {"a.*", "a", false}, {"a.*.c", "a.b.c", true},
		{">", "a", true}, {"a.>", "a.b.c", true}, {"a.>", "a", false}, {"a.>", "b.c", false},
	} {
		if got := matches(tt.pattern, tt.subject); got != tt.want {
			t.Errorf("%q names %q: got %v, want %v", tt.pattern, tt.subject, got, tt.want)
		}
	}
}
