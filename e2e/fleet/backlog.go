package fleet

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh/journal"
)

// errNobodyPulls says that a journal has no consumer, as before the first worker has
// made it, and once a server was killed in the midst of that. What waits there is
// not known then: it is no empty backlog.
var errNobodyPulls = errors.New("the journal has no consumer yet")

// Backlog counts the nudges of a bot that were not handed out yet, and those that were
// and are not acknowledged. It is an error while nobody pulls.
func Backlog(ctx context.Context, js jetstream.JetStream, bot string) (pending, unacknowledged uint64, err error) {
	str, err := js.Stream(ctx, journal.InboxStream(bot))
	if err != nil {
		return 0, 0, err
	}
	list, consumers := str.ListConsumers(ctx), 0
	for info := range list.Info() {
		consumers++
		pending += info.NumPending
		unacknowledged += uint64(info.NumAckPending)
	}
	if err := list.Err(); err != nil {
		return 0, 0, err
	}
	if consumers == 0 {
		return 0, 0, errNobodyPulls
	}
	return pending, unacknowledged, nil
}
