package rediscoord

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Dial returns a client for redis://[user:password@]host:port/db or rediss://
// (TLS), configured for a [Coordinator]: no call is repeated by the client, every
// call keeps its deadline, and the server is not asked for what only some of
// them know.
//
// It looks once whether the server takes the client. A refused password or
// database is an error, as is a bad address. A server that can not be reached is
// not: the client connects when it is there.
func Dial(ctx context.Context, address string) (redis.UniversalClient, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("rediscoord: the address is not a URL") // which may hold a password
	}
	switch u.Scheme {
	case "redis", "rediss":
	case "redis+cluster", "redis+sentinel":
		return nil, fmt.Errorf("rediscoord: %s:// is not yet supported: want redis:// or rediss://", u.Scheme)
	default:
		return nil, fmt.Errorf("rediscoord: scheme %q: want redis:// or rediss://", u.Scheme)
	}
	opt, err := redis.ParseURL(address)
	if err != nil {
		return nil, fmt.Errorf("rediscoord: address of %s: %w", u.Host, err)
	}
	opt.MaxRetries = -1 // an unknown answer is ours to settle
	opt.ContextTimeoutEnabled = true
	opt.DialTimeout = 2 * time.Second
	opt.DialerRetries = 1
	opt.ReadTimeout = 5 * time.Second
	opt.WriteTimeout = 5 * time.Second
	opt.DisableIdentity = true
	opt.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	client := redis.NewClient(opt)
	if err := client.Ping(ctx).Err(); err != nil && misconfigured(err) {
		client.Close()
		return nil, fmt.Errorf("rediscoord: connecting to %s: %w", u.Host, err)
	}
	return client, nil
}

// misconfigured reports whether the server answered, and will never take this
// client.
func misconfigured(err error) bool {
	for _, code := range []string{"WRONGPASS", "NOAUTH", "NOPERM", "ERR"} {
		if strings.HasPrefix(err.Error(), code+" ") {
			return true
		}
	}
	return false
}
