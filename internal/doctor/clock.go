package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
)

// skew is how far a server's clock may be from this machine's, beside what the way
// there and back leaves open.
const skew = 2 * time.Second

// clocks compares this machine's clock with the servers'. Timers go by the clocks of
// NATS, ages by those of the replicas, fences by Redis's.
func clocks(ctx context.Context, cfg Config) (found []Finding) {
	nats, err := clock("nats", func() (time.Time, error) {
		stream, err := cfg.JetStream.Stream(ctx, cfg.Inbox)
		if err != nil {
			return time.Time{}, err
		}
		return stream.CachedInfo().TimeStamp, nil
	})
	if !errors.Is(err, jetstream.ErrStreamNotFound) { // said before
		found = append(found, nats)
	}
	if cfg.Redis == nil {
		return found
	}
	err = nodes(ctx, cfg.Redis, func(addr string, node redis.UniversalClient) error {
		theirs, _ := clock(addr, func() (time.Time, error) { return node.Time(ctx).Result() })
		found = append(found, theirs)
		return nil
	})
	if err != nil {
		found = append(found, about("clocks").unknown(err)...)
	}
	return found
}

// clock judges one clock. The error is ask's.
func clock(whose string, ask func() (time.Time, error)) (Finding, error) {
	const is = about("clocks")
	began := time.Now()
	theirs, err := ask()
	if err != nil {
		return is.unknown(err)[0], err
	}
	way := time.Since(began)
	off := theirs.Sub(began.Add(way / 2))
	if off.Abs() > skew+way/2 {
		return is.warning("let all machines keep their time by NTP", "%s is %v from this machine: timers and ages are off by that", whose, off.Round(time.Millisecond)), nil
	}
	return is.fine("%s agrees with this machine within %v", whose, max(off.Abs(), way/2).Round(time.Millisecond)), nil
}
