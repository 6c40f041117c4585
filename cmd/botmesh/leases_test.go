package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/redistest"
)

// What a replica holds in Redis is seen and taken away from the command line.
func TestALeaseIsSeenAndBroken(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	env := []string{"BOTMESH_NATS_URL=" + natstest.Start(t), "BOTMESH_REDIS_URL=" + redis.URL(), "BOTMESH_REDIS_DOWN=optimistic"}
	if code, _, stderr := finished(t, env, "streams", "apply"); code != 0 {
		t.Fatalf("got %d: %s", code, stderr)
	}
	c, err := rediscoord.New(rediscoord.Config{Client: redis.Client(t), Prefix: "botmesh:demo", Replica: "worker1"})
	must(t, err)
	defer c.Close(t.Context())
	chat := botmesh.ChatKey{Provider: "telegram", Chat: "42"}
	turn, err := c.Take(t.Context(), coord.Request{Key: chat.Key()})
	must(t, err)

	code, stdout, stderr := finished(t, env, "leases", "ls")
	if fence := strconv.FormatUint(turn.Fence(), 10); code != 0 || !strings.Contains(stdout, "telegram/42  "+c.Incarnation()) || !strings.Contains(stdout, fence) {
		t.Errorf("got exit code %d and %s%s, want %s as the holder, under fence %s", code, stdout, stderr, c.Incarnation(), fence)
	}
	for _, step := range []struct {
		args []string
		code int
		says string
		left int
	}{
		{nil, 0, "would be done: leases break telegram/42 turn", 1},
		{[]string{"--fence=1"}, 1, c.Incarnation() + " holds it now", 1},
		{[]string{"--fence", strconv.FormatUint(turn.Fence(), 10), "--dry-run"}, 0, "would be done", 1},
		{[]string{"--fence", strconv.FormatUint(turn.Fence(), 10)}, 0, "done: leases break telegram/42 turn", 0},
	} {
		code, stdout, stderr := finished(t, env, append([]string{"leases", "break", "turn", "telegram/42"}, step.args...)...)
		if code != step.code || !strings.Contains(stdout+stderr, step.says) {
			t.Errorf("%v: got exit code %d and %s%s, want %d and %q", step.args, code, stdout, stderr, step.code, step.says)
		}
		held := 0
		for _, l := range asked[[]admin.Lease](t, env, "leases", "ls", "--kind=turn") {
			if l.Holder != "" {
				held++
			}
		}
		if held != step.left {
			t.Errorf("after %v: got %d turns that are held, want %d", step.args, held, step.left)
		}
	}
	<-turn.Context().Done()
	redis.Kill()
	_, _, stderr = finished(t, env, "leases", "ls")
	if want := "Redis at " + redis.URL() + " (BOTMESH_REDIS_URL) does not answer"; !strings.Contains(stderr, want) || strings.Contains(stderr, "written") {
		t.Errorf("without Redis: got %s, want %q and nothing of writing", stderr, want)
	}
}
