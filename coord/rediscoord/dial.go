package rediscoord

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Dial returns a client for an address, configured for a [Coordinator]: no call is
// repeated by the client, every call keeps its deadline, and the server is not
// asked for what only some of them know.
//
//	redis://[user:password@]host[:port][/db]             one server
//	redis+sentinel://[…@]host[:port],…/master[/db]       the master that Sentinels know
//	redis+cluster://[…@]host[:port],…                    a cluster; some of its servers
//
// With rediss in place of redis the connections are made with TLS. User and
// password are those of the servers; Sentinels that want a password get it as
// ?sentinel_password=… (and sentinel_username). A redis:// or rediss:// address
// takes the parameters that [redis.ParseURL] knows, but for timeouts and retries,
// which are the coordinator's own.
//
// It looks once whether the server takes the client. A refused password or
// database is an error, as is a bad address, or a server of another kind than the
// address says. A server that can not be reached is not: the client connects when
// it is there.
func Dial(ctx context.Context, address string) (redis.UniversalClient, error) {
	return DialTLS(ctx, address, nil)
}

// DialTLS is [Dial] with authorities and certificates of the caller's for an address
// that begins with rediss: secure is used as it is, and with another address it is an
// error. Each name is checked against the server's certificate. Nil is what the machine
// trusts.
func DialTLS(ctx context.Context, address string, secure *tls.Config) (redis.UniversalClient, error) {
	a, err := parseAddress(address)
	if err != nil {
		return nil, fmt.Errorf("rediscoord: %w", err)
	}
	if a.own = secure; secure != nil && !a.secure {
		return nil, fmt.Errorf("rediscoord: address of %s: want rediss where TLS is configured", a.where())
	}
	client, err := a.client()
	if err != nil {
		return nil, fmt.Errorf("rediscoord: address of %s: %w", a.where(), err)
	}
	if err := a.check(ctx, client); err != nil {
		client.Close()
		return nil, fmt.Errorf("rediscoord: connecting to %s: %w", a.where(), err)
	}
	return client, nil
}

const (
	dialTimeout = 2 * time.Second
	ioTimeout   = 2 * time.Second // for what the client asks by itself: calls have deadlines of their own
)

// client makes the client of an address.
func (a *address) client() (redis.UniversalClient, error) {
	quiet := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	password, _ := a.user.Password()
	switch a.kind {
	case kindCluster:
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: a.hosts, Username: a.user.Username(), Password: password, TLSConfig: a.tls(),
			MaxRetries: -1, ContextTimeoutEnabled: true, DialTimeout: dialTimeout, DialerRetries: 1,
			ReadTimeout: ioTimeout, WriteTimeout: ioTimeout, DisableIdentity: true, MaintNotificationsConfig: quiet,
		}), nil
	case kindSentinel:
		return redis.NewFailoverClient(&redis.FailoverOptions{
			SentinelAddrs: a.hosts, MasterName: a.master, DB: a.db,
			SentinelUsername: a.query.Get("sentinel_username"), SentinelPassword: a.query.Get("sentinel_password"),
			Username: a.user.Username(), Password: password, TLSConfig: a.tls(),
			MaxRetries: -1, ContextTimeoutEnabled: true, DialTimeout: dialTimeout, DialerRetries: 1,
			ReadTimeout: ioTimeout, WriteTimeout: ioTimeout, DisableIdentity: true,
		}), nil
	}
	opt, err := redis.ParseURL(a.whole)
	if err != nil {
		return nil, err
	}
	if a.own != nil {
		opt.TLSConfig = a.tls()
	}
	opt.MaxRetries = -1 // an unknown answer is ours to settle
	opt.ContextTimeoutEnabled = true
	opt.DialTimeout, opt.DialerRetries = dialTimeout, 1
	opt.ReadTimeout, opt.WriteTimeout = ioTimeout, ioTimeout
	opt.DisableIdentity = true
	opt.MaintNotificationsConfig = quiet
	return redis.NewClient(opt), nil
}

// tls is how connections are made; each name is checked against the server's
// certificate.
func (a *address) tls() *tls.Config {
	if !a.secure {
		return nil
	}
	if a.own != nil {
		return a.own.Clone()
	}
	return &tls.Config{MinVersion: tls.VersionTLS12}
}

// check says why the server that answers will never do. It is silent about one
// that does not answer.
func (a *address) check(ctx context.Context, client redis.UniversalClient) error {
	info, err := client.Info(ctx, "server").Result()
	switch {
	case err != nil && misconfigured(err):
		return err
	case err != nil, a.kind != kindSingle:
		return nil // a client for a cluster or a master finds out by itself
	}
	for line := range strings.SplitSeq(info, "\r\n") {
		switch line {
		case "redis_mode:cluster":
			return fmt.Errorf("it is part of a cluster: want redis+cluster://")
		case "redis_mode:sentinel":
			return fmt.Errorf("it is a Sentinel: want redis+sentinel://%s/master", a.where())
		}
	}
	return nil
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
