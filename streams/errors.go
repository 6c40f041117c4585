package streams

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// codeNoPeers says that too few servers of the cluster are there, as yet.
const codeNoPeers jetstream.ErrorCode = 10005

// readFailed marks what may be asked again; any other error will be the same.
func readFailed(err error) error {
	if passing(err) || timedOut(err) {
		return jet.Unread(err)
	}
	return err
}

// writeFailed marks what may be asked again, and tells whether it may be done.
func writeFailed(err error) error {
	switch {
	case passing(err):
		return fmt.Errorf("%w: %w", botmesh.ErrRefused, jet.Plain(err))
	case timedOut(err):
		return fmt.Errorf("%w: %w", botmesh.ErrUnknown, err)
	}
	return err
}

// passing are refusals of a server that is not ready: no JetStream or no leader yet.
func passing(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.Code == 503 || api.ErrorCode == codeNoPeers
	}
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrReconnectBufExceeded)
}

func timedOut(err error) bool {
	for _, is := range []error{nats.ErrTimeout, context.DeadlineExceeded, context.Canceled, nats.ErrDisconnected, jetstream.ErrNoStreamResponse} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}
