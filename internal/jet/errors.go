package jet

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
)

// ErrClosed says that the memory server or the connection was closed.
var ErrClosed = errors.New("jet: closed")

// errTimeout says that the server did not answer within Config.Timeout.
var errTimeout = errors.New("jet: no answer within the timeout")

// errLost says that the connection was lost while an answer was awaited.
var errLost = errors.New("jet: connection lost before the answer")

// The server's error codes that mean something other than: refused.
const (
	codeWrongLastSequence         jetstream.ErrorCode = 10071
	codeWrongLastSequenceConstant jetstream.ErrorCode = 10164 // only from a cluster, now and then a false one
	codeIDInProcess               jetstream.ErrorCode = 10158 // an earlier write of this id is still on its way
	codeMessageTooLarge           jetstream.ErrorCode = 10054
	codeHeaderTooLarge            jetstream.ErrorCode = 10097
	codeMessageNotFound           jetstream.ErrorCode = 10037
)

// writeRefused maps the server's word against a publish. What it does not know
// is a refusal: the server answers with an error only if it stored nothing. So
// are 10163 (not ready after a change of leader) and 10077 (the stream is full).
func writeRefused(e *jetstream.APIError) error {
	switch e.ErrorCode {
	case codeWrongLastSequence, codeWrongLastSequenceConstant:
		return fmt.Errorf("%w: %w", botmesh.ErrConflict, e)
	case codeIDInProcess:
		return fmt.Errorf("%w: %w", botmesh.ErrUnknown, e)
	case codeMessageTooLarge, codeHeaderTooLarge:
		return fmt.Errorf("%w: %w", botmesh.ErrTooLarge, e)
	default:
		return fmt.Errorf("%w: %w", botmesh.ErrRefused, e)
	}
}

// writeFailed maps what went wrong before the server's word about a publish came.
func writeFailed(err error) error {
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%w: %w", botmesh.ErrTooLarge, err)
	case notSent(err), errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("%w: %w", botmesh.ErrRefused, Plain(err))
	default:
		return fmt.Errorf("%w: %w", botmesh.ErrUnknown, err)
	}
}

// readRefused maps the server's word against a read.
func readRefused(e *jetstream.APIError) error {
	if e.ErrorCode == codeMessageNotFound || e.ErrorCode == jetstream.JSErrCodeConsumerNotFound {
		return fmt.Errorf("%w: %w", botmesh.ErrNotFound, e)
	}
	return Unread(e)
}

// readFailed maps what went wrong before an answer to a read came. A caller's
// ended context stays what it is.
func readFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return Unread(err)
}

// Unread is the [botmesh.ErrRefused] of what only reads: it wraps err and does not
// speak of writing.
func Unread(err error) error {
	return &said{"botmesh: not answered: " + Plain(err).Error(), []error{botmesh.ErrRefused, err}}
}

// Plain says in the words of an operator what the client says in its own: that
// there is no connection, or no JetStream behind it. Any other error stays as it is.
func Plain(err error) error {
	switch {
	case errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrDisconnected):
		return &said{"not connected to NATS", []error{err}}
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrJetStreamNotEnabled):
		return &said{"nobody answers for the stream: is it there, is JetStream on?", []error{err}}
	}
	return err
}

// said is what it wraps, in other words.
type said struct {
	words string
	of    []error
}

func (s *said) Error() string   { return s.words }
func (s *said) Unwrap() []error { return s.of }

// notSent reports whether the client gave a message back before any byte of it
// was written: it was not connected, or the message can not be sent at all.
func notSent(err error) bool {
	for _, is := range []error{
		nats.ErrReconnectBufExceeded, nats.ErrConnectionClosed, nats.ErrConnectionDraining,
		nats.ErrBadSubject, nats.ErrHeadersNotSupported, nats.ErrBadHeaderMsg,
	} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}
