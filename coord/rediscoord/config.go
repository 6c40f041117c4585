package rediscoord

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/botmesh-go/botmesh/coord/internal/identity"
)

// minLease is the shortest lease that a network and a garbage collector leave alone.
const minLease = 100 * time.Millisecond

// Config configures a [Coordinator].
type Config struct {
	// Client talks to Redis; [Dial] makes one that fits. It stays the caller's, to
	// close after the coordinator. Required.
	Client redis.UniversalClient
	// Prefix begins every name in Redis; replicas that share it coordinate. No
	// braces or spaces. Default "botmesh".
	Prefix string
	// Replica is the replica's id, unique among running replicas: 1 to 253
	// letters, digits and "._:-". Default: a random UUID.
	Replica string
	// Lease is how long a turn and a ticket outlive the replica. Renewals come every
	// third of it, and a replica gives a turn up nine tenths after the last, so that it
	// surely survives a pause of half a Lease. At least 100ms; default 15s.
	Lease time.Duration
	// TurnWait bounds how long Take waits. Default 2m.
	TurnWait time.Duration
	// MaxPoll is the longest pause between two looks of a waiter while the wake-up
	// subscription is down. At least 5ms; default 100ms.
	MaxPoll time.Duration
	// Idle is how long Redis keeps what it knows of a key that nobody holds or
	// waits for: its previous holder. One whose holder did not release is kept for
	// a day, so that a crash is noticed after a long outage. Fences grow all the
	// same. At least two leases; default 1h.
	Idle time.Duration
	// WaitReplicas lets each call wait until as many of Redis' replicas have what it
	// did, for at most a third of the time that a call has: a failover then forgets
	// less. It costs each call that time, and is not for a cluster. Default 0.
	WaitReplicas int
	// Logger gets life events and faults. Default: discard.
	Logger *slog.Logger
}

// withDefaults returns cfg with every default filled in, and what is wrong with it.
func (cfg Config) withDefaults() (Config, error) {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("rediscoord: "+format, args...))
	}
	cfg.Prefix = cmp.Or(cfg.Prefix, "botmesh")
	cfg.Lease = cmp.Or(cfg.Lease, 15*time.Second)
	cfg.TurnWait = cmp.Or(cfg.TurnWait, 2*time.Minute)
	cfg.MaxPoll = cmp.Or(cfg.MaxPoll, 100*time.Millisecond)
	cfg.Idle = cmp.Or(cfg.Idle, max(time.Hour, 2*cfg.Lease))
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Client == nil {
		bad("no Client")
	}
	if strings.ContainsAny(cfg.Prefix, "{} \t\r\n") {
		bad("Prefix %q: no braces or spaces", cfg.Prefix)
	}
	replica, err := identity.Replica(cfg.Replica)
	if err != nil {
		bad("%w", err)
	}
	cfg.Replica = replica
	if cfg.Lease < minLease {
		bad("Lease %s: want at least %s", cfg.Lease, minLease)
	}
	if cfg.TurnWait < 0 {
		bad("TurnWait %s: want more than 0", cfg.TurnWait)
	}
	if cfg.MaxPoll < minPoll {
		bad("MaxPoll %s: want at least %s", cfg.MaxPoll, minPoll)
	}
	if _, cluster := cfg.Client.(*redis.ClusterClient); cfg.WaitReplicas < 0 || cluster && cfg.WaitReplicas > 0 {
		bad("WaitReplicas %d: want 0 or more, and 0 on a cluster", cfg.WaitReplicas)
	}
	if cfg.Idle < 2*cfg.Lease {
		bad("Idle %s: want at least two leases", cfg.Idle)
	}
	return cfg, errors.Join(errs...)
}
