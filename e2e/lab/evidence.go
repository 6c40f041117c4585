package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/journal"
)

// gatherTime bounds how long the evidence may take, which is minutes for that of an hour.
const gatherTime = 10 * time.Minute

// gather takes all that is known of a scene when it is over, and keeps it in the
// scene's directory, where it is judged, and can be again.
func (s *scene) gather(ctx context.Context, e check.Evidence) error {
	e.Bot, e.Lease, e.Single = s.cfg.bot, s.cfg.lease, len(s.cfg.engines.Nodes) == 1
	left, err := s.waiting(ctx)
	e.Armed, e.Waiting, e.Unacked = left.armed, left.pending, left.unacked
	e.Taken = time.Now()
	errs := []error{err}
	for _, stream := range streamsOf(e.Bot) {
		gone, err := check.Save(ctx, s.conn.Stream(stream), dumpFile(s.cfg.dir, stream))
		switch {
		case err != nil:
			errs = append(errs, err)
		case stream == journal.InboxStream(e.Bot):
			e.Gone = gone
		case len(gone) > 0:
			errs = append(errs, fmt.Errorf("%s forgets nothing, and message %d is missing", stream, gone[0]))
		}
	}
	e.Redis, err = s.redisKeys(ctx)
	errs = append(errs, err)
	if !e.Single {
		s.fleet.Stop() // else what is read of one node is older than what is read of the next
		e.Copies, err = s.copies(ctx)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil { // half of it is no evidence
		return fmt.Errorf("lab: gathering the evidence: %w", err)
	}
	return keep(s.cfg.dir, e)
}

// streamsOf are the names of a bot's streams.
func streamsOf(bot string) (names []string) {
	for _, s := range wanted(bot) {
		names = append(names, s.Name)
	}
	return names
}

func dumpFile(dir, stream string) string { return filepath.Join(dir, stream+".jsonl") }

// evidenceFile holds the evidence that is neither in a dump nor in a history.
const evidenceFile = "evidence.json"

func keep(dir string, e check.Evidence) error {
	b, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, evidenceFile), b, 0o644)
}

// redisKeys is what Redis holds for the bot.
func (s *scene) redisKeys(ctx context.Context) ([]check.RedisKey, error) {
	all := []check.RedisKey{}
	err := s.onRedisServer(ctx, func(r *redis.Client) error {
		scan := r.Scan(ctx, 0, "botmesh:"+s.cfg.bot+":*", 1000).Iterator()
		for scan.Next(ctx) {
			key := check.RedisKey{Key: scan.Val()}
			ttl, err := r.PTTL(ctx, key.Key).Result()
			if err != nil {
				return err
			}
			key.TTL = ttl
			if kind, err := r.Type(ctx, key.Key).Result(); err == nil && kind == "hash" {
				key.Fields = int(r.HLen(ctx, key.Key).Val())
			}
			all = append(all, key)
		}
		return scan.Err()
	})
	return all, err
}

// measures are what a process must not use more of for every chat it served, and
// how much more than at the start it may.
var measures = []struct {
	metric, what string
	more         int64
}{
	{"go_goroutines", "goroutines", 200},
	{"go_memory_used_bytes", "bytes", 256 << 20},
}

// usage reads the measures of all workers. Limit is what they may come to later.
func (s *scene) usage(ctx context.Context) (all []check.Usage, err error) {
	for _, w := range s.fleet.Workers {
		m, err := w.Metrics(ctx)
		if err != nil {
			return nil, err
		}
		for _, x := range measures {
			n := int64(m.Sum(x.metric))
			all = append(all, check.Usage{Process: w.Name, What: x.what, After: n, Limit: n + x.more})
		}
	}
	return all, nil
}

// grown is what was used before, with what is used now.
func (s *scene) grown(ctx context.Context, before []check.Usage) ([]check.Usage, error) {
	now, err := s.usage(ctx)
	if err != nil {
		return nil, err
	}
	for i := range now {
		now[i].Limit = before[i].Limit
	}
	return now, nil
}

// judge gathers the evidence and judges it.
func (s *scene) judge(ctx context.Context, e check.Evidence) (check.Evidence, check.Verdict, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, gatherTime, errors.New("the evidence took too long"))
	defer cancel()
	if err := s.gather(ctx, e); err != nil {
		return e, check.Verdict{}, err
	}
	return judge(s.cfg.dir)
}
