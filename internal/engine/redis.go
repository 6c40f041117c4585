package engine

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/tlsfiles"
)

// Coordination makes a replica's coordinators.
type Coordination interface {
	// New returns a coordinator: a new incarnation.
	New() (coord.Coordinator, error)
	// Ping says whether turns and leaderships can be had now.
	Ping(ctx context.Context) error
	Close() error
}

// throughRedis coordinates the replicas of a fleet.
type throughRedis struct {
	client     redis.UniversalClient
	cfg        rediscoord.Config
	optimistic bool
}

// DialRedis coordinates through the Redis of the settings, which need not be there
// yet. What no waiting mends is marked as a wrong configuration.
func DialRedis(ctx context.Context, s config.Config, log *slog.Logger) (Coordination, error) {
	secure, err := tlsfiles.Client(tlsfiles.Files{CA: s.Redis.CA, Cert: s.Redis.Cert, Key: s.Redis.Key}, log)
	if err != nil {
		return nil, config.Wrong(fmt.Errorf("%s, %s, %s: %w", config.EnvName("redis_ca"), config.EnvName("redis_cert"), config.EnvName("redis_key"), err))
	}
	client, err := rediscoord.DialTLS(ctx, s.Redis.URL.Reveal(), secure)
	if err != nil {
		return nil, config.Wrong(fmt.Errorf("%s: %w", config.EnvName("redis_url"), hint(err)))
	}
	return &throughRedis{client: client, optimistic: s.Redis.Down == "optimistic", cfg: rediscoord.Config{
		Client: client, Prefix: s.Prefix, Replica: s.ReplicaID, Lease: s.Lease, TurnWait: s.TurnWait, MaxPoll: s.MaxPoll, Logger: log,
	}}, nil
}

// NameRedis is the Redis of the settings as an operator is told of it: its address
// without credentials, and where that was set.
func NameRedis(s config.Config) string {
	return fmt.Sprintf("Redis at %s (%s)", s.Redis.URL, config.EnvName("redis_url"))
}

// RedisOf is the client of what [DialRedis] returned; false if it is another
// coordination.
func RedisOf(c Coordination) (redis.UniversalClient, bool) {
	r, ok := c.(*throughRedis)
	if !ok {
		return nil, false
	}
	return r.client, true
}

func (r *throughRedis) New() (coord.Coordinator, error) {
	c, err := rediscoord.New(r.cfg)
	if err != nil || !r.optimistic {
		return c, err
	}
	return coord.NewOptimistic(coord.OptimisticConfig{Coordinator: c, TurnWait: r.cfg.TurnWait, Logger: r.cfg.Logger})
}

// Ping asks Redis, unless chats are served without it. On a cluster one part that
// answers is enough: the others hold up only their own chats.
func (r *throughRedis) Ping(ctx context.Context) (err error) {
	cluster, ok := r.client.(*redis.ClusterClient)
	switch {
	case r.optimistic:
		return nil
	case ok:
		err = pingAny(ctx, cluster)
	default:
		err = r.client.Ping(ctx).Err()
	}
	if err != nil {
		return fmt.Errorf("redis: %w", hint(err))
	}
	return nil
}

func hint(err error) error {
	return tlsfiles.Hint(err, config.EnvName("redis_ca"), config.EnvName("redis_cert"))
}

// pingAny asks all masters and is content with the first answer.
func pingAny(ctx context.Context, cluster *redis.ClusterClient) error {
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	var answered atomic.Bool
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		err := master.Ping(ctx).Err()
		if err == nil {
			answered.Store(true)
			enough()
		}
		return err
	})
	if answered.Load() {
		return nil
	}
	return err
}

func (r *throughRedis) Close() error { return r.client.Close() }

// LogRedis gives what the Redis client says to log, for debugging: what matters
// comes back as an error too. It is the process's, to be called before any
// replica is made; without it the client writes to standard error.
func LogRedis(log *slog.Logger) { redis.SetLogger(clientLog{log}) }

type clientLog struct{ log *slog.Logger }

// Printf implements the client's logger.
func (l clientLog) Printf(ctx context.Context, format string, v ...any) {
	l.log.DebugContext(ctx, "redis client", "text", fmt.Sprintf(format, v...))
}
