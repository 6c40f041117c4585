package workerd

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/internal/config"
)

// throughRedis coordinates the workers of a fleet.
type throughRedis struct {
	client redis.UniversalClient
	cfg    rediscoord.Config
}

func dialRedis(ctx context.Context, s config.Config, log *slog.Logger) (Coordination, error) {
	client, err := rediscoord.Dial(ctx, s.Redis.URL.Reveal())
	if err != nil {
		return nil, err
	}
	return &throughRedis{client: client, cfg: rediscoord.Config{
		Client: client, Prefix: s.Prefix, Replica: s.ReplicaID, Lease: s.Lease, TurnWait: s.TurnWait, MaxPoll: s.MaxPoll, Logger: log,
	}}, nil
}

func (r *throughRedis) New() (coord.Coordinator, error) { return rediscoord.New(r.cfg) }

func (r *throughRedis) Ping(ctx context.Context) error {
	if err := r.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	return nil
}

func (r *throughRedis) Close() error { return r.client.Close() }

// LogRedis gives what the Redis client says to log, for debugging: what matters
// comes back as an error too. It is the process's, to be called before any worker
// is made; without it the client writes to standard error.
func LogRedis(log *slog.Logger) { redis.SetLogger(clientLog{log}) }

type clientLog struct{ log *slog.Logger }

// Printf implements the client's logger.
func (l clientLog) Printf(ctx context.Context, format string, v ...any) {
	l.log.DebugContext(ctx, "redis client", "text", fmt.Sprintf(format, v...))
}
