package rediscoord_test

import (
	"bufio"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/internal/redistest"
)

// Recovery took a dead worker's job out of one set in Redis and left it in another,
// so that its group looked busy for ever. Here what the scripts write is written
// down, and then every beginning of it is made the state of a key, as if whoever
// wrote had been cut short there: another replica gets each key once a lease is over,
// and nothing of any is left after a while. A key has no second place that could
// disagree with the first.
//
// FAULT: 5 https://github.com/Openpanel-dev/groupmq/issues/12
// SPEC: T6 T15
func TestWhatWasWrittenHalfHeals(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	look := server.Client(t)
	const term = 2 * time.Second
	cfg := rediscoord.Config{Client: dial(t, server), Lease: term, Idle: 2 * term}
	a, b := join(t, cfg), join(t, cfg)
	release(t, take(t, a, coord.Request{Key: "warm"}))
	release(t, take(t, b, coord.Request{Key: "warm"}))

	log := monitor(t, server)
	held := take(t, a, coord.Request{Key: "line"})
	waits := queue(t, b, look, coord.Request{Key: "line"})
	release(t, held)
	release(t, granted(t, waits))
	held = take(t, a, coord.Request{Key: "pass", Place: 1})
	passed := queue(t, b, look, coord.Request{Key: "pass", Place: 2})
	if err := held.Release(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	<-passed
	take(t, a, coord.Request{Key: "pass", Place: 3})
	if err := look.Echo(t.Context(), "end").Err(); err != nil {
		t.Fatal(err)
	}
	writes := log()
	a.Crash()
	b.Crash()

	var keys []string
	for _, key := range []string{"line", "pass"} {
		if len(writes[key]) < 8 {
			t.Fatalf("got the writes %q of %s, want those of several scripts", writes[key], key)
		}
		for n := range writes[key] {
			half := fmt.Sprintf("%s-%d", key, n+1)
			keys = append(keys, half)
			for _, w := range writes[key][:n+1] {
				w[1] = turnKey(half)
				if err := look.Do(t.Context(), w...).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	c := join(t, cfg)
	began := time.Now()
	var grants []<-chan outcome
	for _, key := range keys {
		result := make(chan outcome, 1)
		grants = append(grants, result)
		go func() {
			turn, err := c.Take(t.Context(), coord.Request{Key: key, Place: 4})
			result <- outcome{turn, err}
		}()
	}
	for _, grant := range grants {
		release(t, granted(t, grant))
	}
	t.Logf("%d half-written states healed within %v", len(keys), time.Since(began))
	if took, bound := time.Since(began), 4*term; took > bound {
		t.Errorf("got the last turn after %v, want it within a lease, or %v on a slow machine", took, bound)
	}
	for _, key := range []string{"line", "pass"} {
		if got, err := look.Keys(t.Context(), "botmesh:{"+key+"}*").Result(); err != nil || len(got) > 1 {
			t.Errorf("got %q (%v), want one place for all that is known of a key", got, err)
		}
	}
	eventually(t, "Redis forgets all of them", func() bool {
		left, err := look.Keys(t.Context(), "botmesh:{*-*").Result()
		return err == nil && len(left) == 0
	})
}

var monitored = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// monitor begins to write down what scripts write. The function that it returns
// waits for an ECHO and gives the writes of each key, in order.
func monitor(t testing.TB, server *redistest.Server) (end func() map[string][][]any) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	lines := bufio.NewReader(conn)
	if _, err := fmt.Fprint(conn, "MONITOR\r\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := lines.ReadString('\n'); err != nil || line != "+OK\r\n" {
		t.Fatalf("MONITOR: got %q (%v)", line, err)
	}
	return func() map[string][][]any {
		writes := map[string][][]any{}
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			var args []any
			for _, quoted := range monitored.FindAllString(line, -1) {
				arg, err := strconv.Unquote(quoted)
				if err != nil {
					t.Fatalf("%s: %v", quoted, err)
				}
				args = append(args, arg)
			}
			command := args[0].(string)
			switch {
			case strings.EqualFold(command, "ECHO"):
				return writes
			case strings.Contains(line, " lua] ") && (command == "HSET" || command == "HDEL" || command == "PEXPIRE"):
				key := strings.TrimSuffix(strings.TrimPrefix(args[1].(string), "botmesh:{"), "}:turn")
				writes[key] = append(writes[key], args)
			}
		}
	}
}
