package rediscoord

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
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
// database is an error, as is a bad address, a server of another kind than the
// address says, a replica where it names one server, or a master that no Sentinel
// knows. A server that can not be reached is not: the client connects when it is there.
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
	said, err := inform(ctx, client, "server")
	switch {
	case errors.Is(err, redis.Nil):
		return fmt.Errorf("the Sentinels know no master %q", a.master)
	case says(err, append(denials, "ERR")...):
		return err
	case err != nil, a.kind != kindSingle:
		return nil // a client for a cluster or a master finds out by itself
	case said["redis_mode"] == "cluster":
		return errors.New("it is part of a cluster: want redis+cluster://")
	case said["redis_mode"] == "sentinel":
		return fmt.Errorf("it is a Sentinel: want redis+sentinel://%s/master", a.where())
	}
	if said, err = inform(ctx, client, "replication"); err == nil && said["role"] == "slave" {
		return fmt.Errorf("it is a replica of %s and takes no writes: want its master, or redis+sentinel:// to follow it",
			net.JoinHostPort(said["master_host"], said["master_port"]))
	}
	return nil
}

// inform reads a section of what a server tells of itself.
func inform(ctx context.Context, node redis.Cmdable, section string) (map[string]string, error) {
	text, err := node.Info(ctx, section).Result()
	if err != nil {
		return nil, err
	}
	said := map[string]string{}
	for line := range strings.SplitSeq(text, "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		said[name] = value
	}
	return said, nil
}

// denials are how a server begins its answer to a client that it does not let in, or
// not do what it wants.
var denials = []string{"WRONGPASS", "NOAUTH", "NOPERM"}

// says reports whether an error is a server's answer that begins with one of the codes.
func says(err error, codes ...string) bool {
	var said redis.Error
	return errors.As(err, &said) && slices.ContainsFunc(codes, func(code string) bool {
		return strings.HasPrefix(said.Error(), code+" ")
	})
}
