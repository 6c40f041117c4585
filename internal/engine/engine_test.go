package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/journal"
)

func TestMain(m *testing.M) {
	engine.LogRedis(silent)
	goleak.VerifyTestMain(m)
}

var silent = slog.New(slog.DiscardHandler)

func settings(t *testing.T, env ...string) config.Config {
	t.Helper()
	l, err := config.Load(config.Input{Environ: env})
	if err != nil {
		t.Fatal(err)
	}
	return l.Config
}

func dial(t *testing.T, s config.Config) *jet.Conn {
	t.Helper()
	conn, err := engine.Dial(t.Context(), s, "test", nil, silent)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

func TestDialNamesTheSettingOfAnAbsentFile(t *testing.T) {
	t.Parallel()
	_, err := engine.Dial(t.Context(), settings(t, "BOTMESH_NATS_CREDS="+t.TempDir()+"/none.creds"), "test", nil, silent)
	if !config.IsWrong(err) || !strings.HasPrefix(err.Error(), "BOTMESH_NATS_CREDS: ") {
		t.Errorf("got %v, want it wrong, with the name of the setting", err)
	}
}

func TestAwaitRepeatsWhatMayYetBe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers := []error{botmesh.ErrRefused, botmesh.ErrUnknown, botmesh.ErrNotFound, nil}
		tries := 0
		err := engine.Await(t.Context(), silent, config.Config{}, "x", func(context.Context) error {
			tries++
			return answers[tries-1]
		})
		if err != nil || tries != len(answers) {
			t.Errorf("got %v after %d tries, want success after %d", err, tries, len(answers))
		}
	})
}

func TestAwaitMarksWhatNoWaitingMends(t *testing.T) {
	t.Parallel()
	tries := 0
	err := engine.Await(t.Context(), silent, config.Config{}, "x", func(context.Context) error {
		tries++
		return errors.New("no permission")
	})
	if !config.IsWrong(err) || err.Error() != "no permission" || tries != 1 {
		t.Errorf("got %v after %d tries, want it marked as wrong after one", err, tries)
	}
}

// Who waits is told for what, at which address, and how to choose another.
func TestAwaitNamesTheServer(t *testing.T) {
	t.Parallel()
	s := settings(t, "BOTMESH_NATS_URL=nats://me:pass@127.0.0.1:1")
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(&out, nil))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = engine.Await(ctx, log, s, "journal", func(context.Context) error { return jet.Unread(nats.ErrReconnectBufExceeded) })
	})
	got := out.String()
	for _, want := range []string{"for=journal", "not connected to NATS", "server=nats://***@127.0.0.1:1", "setting=BOTMESH_NATS_URL"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %q in it", got, want)
		}
	}
	if strings.Contains(got, "pass") || strings.Contains(got, "written") {
		t.Errorf("got %s, want no password and no word of writing", got)
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := engine.Await(ctx, silent, config.Config{}, "x", func(context.Context) error { return botmesh.ErrRefused })
		if !errors.Is(err, context.DeadlineExceeded) || config.IsWrong(err) {
			t.Errorf("got %v, want the context's error", err)
		}
		err = engine.Await(ctx, silent, config.Config{}, "x", func(ctx context.Context) error { return fmt.Errorf("cut off: %w", ctx.Err()) })
		if !errors.Is(err, context.DeadlineExceeded) || config.IsWrong(err) {
			t.Errorf("ended before: got %v, want the context's error", err)
		}
	})
}

func TestStreamsFollowTheSettings(t *testing.T) {
	t.Parallel()
	type brief struct {
		Name     string
		Replicas int
		MaxAge   time.Duration
	}
	get := func(env ...string) (all []brief) {
		for _, s := range engine.Streams(settings(t, env...)) {
			all = append(all, brief{s.Name, s.Replicas, s.MaxAge})
		}
		return all
	}
	want := []brief{
		{"BOT_b_INBOX", 3, 48 * time.Hour}, {"BOT_b_DEAD", 3, 30 * 24 * time.Hour},
		{"BOT_b_OUTBOX", 3, 72 * time.Hour}, {"KV_BOT_b_CP", 3, 0}, {"BOT_b_ACTS", 3, 0},
	}
	if d := cmp.Diff(want, get("BOTMESH_BOT=b", "BOTMESH_REPLICAS=3", "BOTMESH_RETENTION=48h")); d != "" {
		t.Errorf("streams differ (-want +got):\n%s", d)
	}
	if got, want := engine.Longest(settings(t, "BOTMESH_RETENTION=48h")), 72*time.Hour; got != want {
		t.Errorf("longest: got %v, want that of the outbox, %v", got, want)
	}
	for _, s := range get() {
		if s.Replicas != 0 {
			t.Errorf("%s: got %d replicas by default, want it left to the servers", s.Name, s.Replicas)
		}
	}
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t)
	s := settings(t, "BOTMESH_NATS_URL="+url)
	conn := dial(t, s)

	verify := s
	verify.Streams = "verify"
	err := engine.Prepare(t.Context(), conn, verify, silent)
	if !config.IsWrong(err) || !strings.Contains(err.Error(), "BOT_demo_INBOX is absent") {
		t.Errorf("verify: got %v, want it wrong since the inbox is absent", err)
	}
	if err := engine.Prepare(t.Context(), conn, s, silent); err != nil {
		t.Fatal(err)
	}
	if err := engine.Prepare(t.Context(), conn, verify, silent); err != nil {
		t.Errorf("verify after create: got %v, want no error", err)
	}
	longer := s
	longer.Retention *= 2
	if err := engine.Prepare(t.Context(), conn, longer, silent); !config.IsWrong(err) || !strings.Contains(err.Error(), "max_age") {
		t.Errorf("other retention: got %v, want it wrong", err)
	}
	longer.Streams = "trust"
	if err := engine.Prepare(t.Context(), conn, longer, silent); err != nil {
		t.Errorf("trust: got %v, want no look", err)
	}
}

// Readiness is asked of the very path that a webhook takes, and leaves nothing.
func TestWritable(t *testing.T) {
	t.Parallel()
	s := settings(t, "BOTMESH_NATS_URL="+natstest.Start(t))
	conn := dial(t, s)
	inbox := conn.Stream(journal.InboxStream(s.Bot))
	if err := engine.Writable(t.Context(), inbox, s.Bot); err == nil {
		t.Error("without a stream: got writable, want not")
	}
	if err := engine.Prepare(t.Context(), conn, s, silent); err != nil {
		t.Fatal(err)
	}
	if err := engine.Writable(t.Context(), inbox, s.Bot); err != nil {
		t.Errorf("got %v, want writable", err)
	}
	info, err := inbox.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.LastSeq != 0 {
		t.Errorf("got %d messages stored by asking, want none", info.LastSeq)
	}
}

func TestDialMarksAWrongAddress(t *testing.T) {
	t.Parallel()
	s := settings(t, "BOTMESH_NATS_CREDS=/no/such/file", "BOTMESH_NATS_URL="+natstest.Start(t))
	if _, err := engine.Dial(t.Context(), s, "test", nil, silent); !config.IsWrong(err) {
		t.Errorf("got %v, want it marked as wrong", err)
	}
}
