package e2e

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// SPEC: J1 J2 J4 W3
func TestNATSDownIsRefusedAndLosesNothing(t *testing.T) { // alone: it loads the machine
	s := started(t, quick)
	ctx := s.within(time.Minute)
	steady := load{chats: 64, messages: 30, pause: 150 * time.Millisecond}.begin(ctx, s)
	if err := s.Await(ctx, firstChat, func(texts []string) bool { return len(texts) >= 5 }); err != nil {
		t.Fatal(err)
	}
	s.KillNATS()
	for _, r := range s.Ingress {
		a, err := s.Post(ctx, r.URL, s.Message(1, "/count"))
		if err != nil {
			t.Fatal(err)
		}
		if a.Status != http.StatusServiceUnavailable || a.RetryAfter == "" || a.Took > 2*time.Second {
			t.Errorf("got %d with Retry-After %q after %v, want 503 with one within 1.5 s", a.Status, a.RetryAfter, a.Took)
		}
	}
	s.eventually(10*time.Second, "nobody is ready", func(ctx context.Context) error {
		for _, r := range s.Replicas() {
			if r.Ready(ctx) {
				return fmt.Errorf("%s is", r.Name)
			}
		}
		return nil
	})
	if err := s.NATS.Start(ctx); err != nil {
		t.Fatal(err)
	}
	want, err := steady.end()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Texts(1)); n > 0 { // a refused post may have been stored all the same, unknown to the ingress
		want["1"] = []string{"count: 1", "count: 2"}[:n]
	}
	s.verify(want)
	for _, r := range s.Replicas() {
		if err := r.AwaitReady(s.within(10 * time.Second)); err != nil {
			t.Error(err)
		}
	}
}

// Some chats are in a long turn nearly all the time, with a record waiting behind
// it: whenever Redis forgets the turn, that record's replica is granted it too, and
// two run the same record, until the first one hears of it or its commit is
// refused. A run in which that never happened proves nothing and fails.
//
// SPEC: T9 T14 C1 C2 DESIGN I3 I5 I6
func TestEmptiedRedisDoublesAndLosesNothing(t *testing.T) { // alone: it loads the machine
	s := started(t, quick)
	const flushes = 25
	ctx := s.within(time.Minute)
	steady := load{chats: 64, messages: 50, pause: 150 * time.Millisecond}.begin(ctx, s)
	turns := newLongTurns(s, 6, 300*time.Millisecond)
	turns.start(ctx)

	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for range flushes {
		<-tick.C
		if err := flushAll(ctx, s.Redis.Addr); err != nil {
			t.Fatal(err)
		}
	}
	want, err := steady.end()
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(want, turns.stop())
	s.idle(20 * time.Second)
	s.judge(numbered(s.Calls()), want)
	refused, lost := s.sum(s.Workers, "bot_checkpoint_conflicts_total"), s.sum(s.Workers, "bot_lease_lost_total")
	if refused+lost == 0 {
		t.Error("got no turn lost and no commit refused, want some")
	}
	t.Logf("%d flushes, %g turns lost, %g commits refused", flushes, lost, refused)
}

func flushAll(ctx context.Context, addr string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := fmt.Fprint(conn, "FLUSHALL\r\n"); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if strings.TrimSpace(line) != "+OK" {
		return fmt.Errorf("FLUSHALL: %s", line)
	}
	return nil
}
