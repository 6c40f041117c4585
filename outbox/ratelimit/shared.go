package ratelimit

import (
	"context"
	_ "embed" // the script
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/provider"
)

//go:embed limit.lua
var limitLua string

var limitScript = redis.NewScript(limitLua)

// away is for how long Redis is not asked after it did not answer.
const away = time.Second

// SharedConfig configures a [Shared].
type SharedConfig struct {
	Config
	// Client talks to Redis; calls must end with their context. Required.
	Client redis.Scripter
	// Prefix begins every key. Required, and the same on all replicas.
	Prefix string
	Logger *slog.Logger // defaults to discarding
}

// Shared keeps limits for all replicas that use the same Redis, by its clock. One
// script per call of a platform that has limits, none for others. Safe for
// concurrent use.
//
// Keys are <prefix>:limits:{…}, in one slot of a cluster. That of a chat goes when
// its bucket is full again.
type Shared struct {
	cfg   SharedConfig
	local *Local

	mu    sync.Mutex
	until time.Time // Redis is not asked before
}

var _ outbox.Limiter = (*Shared)(nil)

// NewShared makes a Shared.
func NewShared(cfg SharedConfig) (*Shared, error) {
	local, err := NewLocal(cfg.Config)
	if cfg.Client == nil {
		err = errors.Join(err, errors.New("ratelimit: Client is required"))
	}
	if cfg.Prefix == "" {
		err = errors.Join(err, errors.New("ratelimit: Prefix is required"))
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Shared{cfg: cfg, local: local}, err
}

// Allow implements [outbox.Limiter]. Where Redis does not answer within ctx the
// call may have been counted.
func (s *Shared) Allow(ctx context.Context, d outbox.Demand) time.Duration {
	l := s.cfg.limits(d)
	if !s.asks(l) {
		return s.local.Allow(ctx, d)
	}
	args := []any{"take", flag(d.Waited)}
	for _, r := range [...]provider.Rate{s.cfg.All, l.Account, l.Chat} {
		args = append(args, r.Every.Microseconds(), r.Burst)
	}
	micros, ok := s.run(ctx, d, args)
	if !ok {
		return s.local.Allow(ctx, d)
	}
	return time.Duration(micros) * time.Microsecond
}

// Stop implements [outbox.Limiter]. Two chats of an account that are both told to
// wait are taken for the account.
func (s *Shared) Stop(ctx context.Context, d outbox.Demand, account bool, pause time.Duration) {
	s.local.Stop(ctx, d, account, pause)
	l := s.cfg.limits(d)
	if !s.asks(l) {
		return
	}
	life := pause + l.Chat.Every*time.Duration(l.Chat.Burst) + time.Second
	s.run(ctx, d, []any{"stop", pause.Microseconds(), flag(account), d.Limits.Address, life.Milliseconds()})
}

// asks reports whether Redis is asked about calls with such limits now.
func (s *Shared) asks(l provider.Limits) bool {
	if l.Chat.IsZero() && l.Account.IsZero() && s.cfg.All.IsZero() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !time.Now().Before(s.until)
}

// run runs the script. It reports false if Redis did not answer.
func (s *Shared) run(ctx context.Context, d outbox.Demand, args []any) (int64, bool) {
	key := s.cfg.Prefix + ":limits:{calls}"
	chat := botmesh.ChatKey{Provider: d.Account, Chat: d.Limits.Address}
	n, err := limitScript.Run(ctx, s.cfg.Client, []string{key, key + ":" + d.Account, key + ":" + chat.Key()}, args...).Int64()
	if err != nil {
		s.mu.Lock()
		s.until = time.Now().Add(away)
		s.mu.Unlock()
		s.cfg.Logger.WarnContext(ctx, "limits are kept by this replica alone, redis does not answer", "err", err)
	}
	return n, err == nil
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
