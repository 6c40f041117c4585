package streams

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
)

func TestErrorsTellWhatMayBeAskedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err         error
		read, write error // nil: none of the marks
	}{
		{nats.ErrNoResponders, botmesh.ErrRefused, botmesh.ErrRefused},
		{nats.ErrReconnectBufExceeded, botmesh.ErrRefused, botmesh.ErrRefused},
		{jetstream.ErrJetStreamNotEnabled, botmesh.ErrRefused, botmesh.ErrRefused},
		{&jetstream.APIError{Code: 400, ErrorCode: 10005}, botmesh.ErrRefused, botmesh.ErrRefused}, // too few servers yet
		{context.DeadlineExceeded, botmesh.ErrRefused, botmesh.ErrUnknown},
		{nats.ErrTimeout, botmesh.ErrRefused, botmesh.ErrUnknown},
		{&jetstream.APIError{Code: 500, ErrorCode: 10074}, nil, nil}, // replicas on a single server
		{&jetstream.APIError{Code: 400, ErrorCode: 10052}, nil, nil}, // invalid configuration
		{nats.ErrPermissionViolation, nil, nil},
	} {
		for call, got := range map[string]error{"read": readFailed(c.err), "write": writeFailed(fmt.Errorf("wrapped: %w", c.err))} {
			want := c.read
			if call == "write" {
				want = c.write
			}
			for _, mark := range []error{botmesh.ErrRefused, botmesh.ErrUnknown} {
				if is := errors.Is(got, mark); is != (mark == want) {
					t.Errorf("%s: %v: is %v: got %v", call, c.err, mark, is)
				}
			}
			if !errors.Is(got, c.err) {
				t.Errorf("%s: got %v, want it to wrap %v", call, got, c.err)
			}
		}
	}
}
