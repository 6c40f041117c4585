package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
)

// nodes calls do for each server that keeps keys, one at a time, with its address.
func nodes(ctx context.Context, client redis.UniversalClient, do func(addr string, node redis.UniversalClient) error) error {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return do("redis", client)
	}
	var one sync.Mutex
	return cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		one.Lock()
		defer one.Unlock()
		return do("redis "+node.Options().Addr, node)
	})
}

// inform reads a part of what a server says of itself.
func inform(ctx context.Context, node redis.UniversalClient, section string) (map[string]string, error) {
	text, err := node.Info(ctx, section).Result()
	if err != nil {
		return nil, fmt.Errorf("info %s: %w", section, err)
	}
	said := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			said[name] = value
		}
	}
	return said, nil
}

// each reads a part of what every server says of itself.
func each(ctx context.Context, cfg Config, is about, section string, judge func(addr string, said map[string]string) []Finding) (found []Finding) {
	err := nodes(ctx, cfg.Redis, func(addr string, node redis.UniversalClient) error {
		said, err := inform(ctx, node, section)
		if err == nil {
			found = append(found, judge(addr, said)...)
		}
		return err
	})
	if err != nil {
		return append(found, is.unknown(err)...)
	}
	return found
}

// answers finds something if no server of Redis answers.
func answers(ctx context.Context, cfg Config) []Finding {
	heard := false
	err := nodes(ctx, cfg.Redis, func(_ string, node redis.UniversalClient) error {
		err := node.Ping(ctx).Err()
		heard = heard || err == nil
		return err
	})
	if err == nil || heard {
		return nil
	}
	return []Finding{{Unknown, "redis", fmt.Sprintf("%s does not answer: %v", cfg.RedisName, err),
		"start it, or give this command the address that the workers have"}}
}

// memory looks at what Redis does when its memory is full.
func memory(ctx context.Context, cfg Config) []Finding {
	const is = about("memory")
	return each(ctx, cfg, is, "memory", func(addr string, said map[string]string) (found []Finding) {
		most, _ := strconv.ParseUint(said["maxmemory"], 10, 64) // zero: no bound
		used, _ := strconv.ParseUint(said["used_memory"], 10, 64)
		if policy := said["maxmemory_policy"]; most > 0 && policy != "noeviction" {
			found = append(found, is.warning("set maxmemory-policy noeviction", "%s throws away keys when it is full (%s): chats then change hands in the middle of a turn", addr, policy))
		}
		if most > 0 && used*100 >= most*full {
			found = append(found, is.warning("raise maxmemory, or move what else is kept there", "%s is %d%% full", addr, used*100/most))
		}
		if found == nil {
			found = append(found, is.fine("%s does not throw away keys", addr))
		}
		return found
	})
}

// persistence looks at whether Redis can write what it has to.
func persistence(ctx context.Context, cfg Config) []Finding {
	const is = about("persistence")
	return each(ctx, cfg, is, "persistence", func(addr string, said map[string]string) []Finding {
		switch {
		case said["aof_enabled"] == "1" && said["aof_last_write_status"] == "err":
			return []Finding{is.broken("look at its disk and its log: it refuses writes until that is mended", "%s can not write its log", addr)}
		case said["rdb_last_bgsave_status"] == "err":
			return []Finding{is.warning("look at its disk and its log: by its defaults it refuses writes now", "%s could not write its last snapshot", addr)}
		case said["aof_enabled"] == "1":
			return []Finding{is.fine("%s keeps a log", addr)}
		}
		return []Finding{is.fine("%s forgets at a restart what it did not snapshot: chats then change hands, and nothing is lost", addr)}
	})
}

// replicas looks at who is alive: workers, and ingresses that hold sessions.
func replicas(ctx context.Context, cfg Config) []Finding {
	const is = about("replicas")
	prefix := cfg.Prefix + ":alive:"
	var alive []string
	err := nodes(ctx, cfg.Redis, func(_ string, node redis.UniversalClient) error {
		keys := node.Scan(ctx, 0, escape(prefix)+"*", 1000).Iterator()
		for keys.Next(ctx) {
			incarnation := strings.TrimPrefix(keys.Val(), prefix)
			if name, _, _ := strings.Cut(incarnation, "/"); incarnation != cfg.Self {
				alive = append(alive, name)
			}
		}
		return keys.Err()
	})
	if err != nil {
		return is.unknown(err)
	}
	slices.Sort(alive)
	if alive = slices.Compact(alive); len(alive) == 0 {
		return []Finding{is.broken("start workers, or look for their BOTMESH_PREFIX and BOTMESH_REDIS_URL", "no program says that it is alive, by keys that begin with %s", cfg.Prefix)}
	}
	return []Finding{is.fine("%s alive, of those that coordinate: %s", are(len(alive)), strings.Join(alive, ", "))}
}

// escape takes a pattern's letters for themselves.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// leaders looks at the sessions that one ingress holds: without it the bot is deaf.
func leaders(ctx context.Context, cfg Config) (found []Finding) {
	const is = about("sessions")
	for _, session := range cfg.Sessions {
		view, err := cfg.Leaders.Inspect(ctx, coord.KindLead, session)
		if err != nil && !errors.Is(err, botmesh.ErrNotFound) {
			return append(found, is.unknown(err)...)
		}
		if view.Holder == "" {
			found = append(found, is.broken("is an ingress running that may lead it? its log says why it stepped down", "nobody holds the session of %s: nothing is heard", session))
			continue
		}
		found = append(found, is.fine("%s holds that of %s since %s", view.Holder, session, view.Since.UTC().Format(time.RFC3339)))
	}
	return found
}
