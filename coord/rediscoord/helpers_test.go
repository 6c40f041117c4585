package rediscoord_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/internal/redistest"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// dial returns a client of the server, closed when the test ends.
func dial(t testing.TB, s *redistest.Server) redis.UniversalClient {
	t.Helper()
	return dialURL(t, s.URL())
}

func dialURL(t testing.TB, url string) redis.UniversalClient {
	t.Helper()
	client, err := rediscoord.Dial(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// join starts a coordinator that is closed when the test ends.
func join(t testing.TB, cfg rediscoord.Config) *rediscoord.Coordinator {
	t.Helper()
	c, err := rediscoord.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		c.Close(ctx)
	})
	return c
}

func take(t testing.TB, c coord.Coordinator, r coord.Request) coord.Turn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	turn, err := c.Take(ctx, r)
	if err != nil {
		t.Fatalf("taking %s: %v", r.Key, err)
	}
	return turn
}

// release gives a turn up. Without an answer, on a busy machine, that is repeated in
// the background: who comes next shows it.
func release(t testing.TB, turn coord.Turn) {
	t.Helper()
	if err := turn.Release(t.Context(), 0); err != nil && !errors.Is(err, botmesh.ErrUnknown) {
		t.Fatalf("releasing %s: %v", turn.Key(), err)
	}
}

// outcome is what a Take returned.
type outcome struct {
	turn coord.Turn
	err  error
}

// queue begins a Take and returns once its ticket is in line.
func queue(t testing.TB, c coord.Coordinator, look *redis.Client, r coord.Request) <-chan outcome {
	t.Helper()
	result := make(chan outcome, 1)
	go func() {
		turn, err := c.Take(t.Context(), r)
		result <- outcome{turn, err}
	}()
	eventually(t, "the ticket is in line", func() bool {
		for field := range hash(t, look, r.Key) {
			if strings.HasPrefix(field, "t:"+c.Incarnation()) {
				return true
			}
		}
		return false
	})
	return result
}

// subscribed waits until a coordinator's wake-ups are listened to.
func subscribed(t testing.TB, look *redis.Client, c *rediscoord.Coordinator) {
	t.Helper()
	channel := "botmesh:wake:" + c.Incarnation()
	eventually(t, "the subscription is there", func() bool {
		n, err := look.PubSubNumSub(t.Context(), channel).Result()
		if err != nil {
			t.Fatal(err)
		}
		return n[channel] == 1 && c.Listens()
	})
}

func granted(t testing.TB, result <-chan outcome) coord.Turn {
	t.Helper()
	select {
	case got := <-result:
		if got.err != nil {
			t.Fatalf("a queued Take failed: %v", got.err)
		}
		return got.turn
	case <-time.After(patience):
		t.Fatal("a queued Take did not return")
		return nil
	}
}

// lost waits until the turn's context ends and returns the reason.
func lost(t testing.TB, turn coord.Turn) botmesh.LossReason {
	t.Helper()
	select {
	case <-turn.Context().Done():
	case <-time.After(patience):
		t.Fatal("the turn goes on")
	}
	var why *botmesh.LeaseLostError
	if !errors.As(context.Cause(turn.Context()), &why) {
		t.Fatalf("got %v, want a LeaseLostError", context.Cause(turn.Context()))
	}
	return why.Reason
}

// hash is what Redis knows of a key, under the default prefix.
func hash(t testing.TB, look *redis.Client, key string) map[string]string {
	t.Helper()
	fields, err := look.HGetAll(t.Context(), turnKey(key)).Result()
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

func turnKey(key string) string { return "botmesh:{" + key + "}:turn" }

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for !is() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not in %s: %s", patience, what)
		}
	}
}

// info reads one section of the server's INFO.
func info(t testing.TB, look *redis.Client, section string) map[string]string {
	t.Helper()
	text, err := look.Info(t.Context(), section).Result()
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for line := range strings.SplitSeq(text, "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		said[name] = value
	}
	return said
}

// scripts counts the script calls that the server ran.
func scripts(t testing.TB, look *redis.Client) int {
	t.Helper()
	total := 0
	said := info(t, look, "commandstats")
	for _, name := range []string{"cmdstat_evalsha", "cmdstat_eval"} {
		calls, _, _ := strings.Cut(strings.TrimPrefix(said[name], "calls="), ",")
		n, _ := strconv.Atoi(calls)
		total += n
	}
	return total
}
