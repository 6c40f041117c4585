package worker

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/redistest"
	"github.com/botmesh-go/botmesh/internal/replay"
	"github.com/botmesh-go/botmesh/internal/workerd"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

// What is asked on the command line is done on real servers, or said what is wrong with it.
//
// SPEC: J7
func TestReplayAndRebuildAreCommands(t *testing.T) { // alone: the settings are the environment's
	telegram := telegramtest.New("1:x")
	api := httptest.NewServer(telegram)
	t.Cleanup(api.Close)
	servers := natstest.Start(t)
	for key, value := range map[string]string{
		"BOTMESH_NATS_URL": servers, "BOTMESH_REDIS_URL": redistest.Start(t).URL(), "BOTMESH_LEASE": "2s",
		"BOTMESH_TELEGRAM_TOKEN": "1:x", "BOTMESH_TELEGRAM_API_URL": api.URL, "BOTMESH_LOG_LEVEL": "error",
	} {
		t.Setenv(key, value)
	}
	b := bot.New().Command("/hi", func(c *bot.Context) error { c.Say("hello"); return nil })
	serveOne(t, b, telegram, servers)

	var out strings.Builder
	again := replays{program: workerd.Program(), bot: b, stdout: &out}
	other := replays{program: workerd.Program(), stdout: &out}
	other.bot = bot.New().Command("/hi", func(c *bot.Context) error { c.Say("good day"); return nil })
	doing := replays{program: workerd.Program(), stdout: &out}
	doing.bot = bot.New().Command("/hi", func(c *bot.Context) error {
		_, err := flow.Do(c, "greet", func(context.Context, string) (int, error) { return 1, nil })
		return err
	})
	for _, c := range []struct {
		name string
		do   func([]string) error
		args []string
		want string // of the output, or of the error
		bad  bool
	}{
		{"replay", again.replay, []string{"telegram/5"}, "user: /hi\n    bot:  hello\nreplayed 1 records", false},
		{"a range", again.replay, []string{"--from=1", "--until=2030-01-02T15:04:05Z", "telegram/5"}, "replayed 1 records;", false},
		{"an empty range", again.replay, []string{"--from=2", "telegram/5"}, "no record of the chat telegram/5 in that range", false},
		{"a time that is none", again.replay, []string{"--since=soon", "telegram/5"}, "\"soon\" is no time", true},
		{"a chat without records", again.replay, []string{"telegram/6"}, "no record of the chat", false},
		{"json", again.replay, []string{"-o", "json", "telegram/5"}, `"text": "hello"`, false},
		{"against the same", again.replay, []string{"--against"}, "1 chats: 1 the same, 0 differ, 0 can not be compared; 0 records could not be; nothing", false},
		{"against another build", other.replay, []string{"--against", "telegram/5"}, "a chat has another answer now", false},
		{"against what does something", doing.replay, []string{"--against"}, "(0 records are the same, 1 can not be compared)  #1 wants to do \"greet\"", false},
		{"against a chat without records", again.replay, []string{"--against", "telegram/6"}, "no record of the chat", true},
		{"against a range", again.replay, []string{"--against", "--from=2"}, replayUsage, true},
		{"a chat that is none", again.replay, []string{"nobody"}, "not a chat key", true},
		{"no chat", again.rebuild, nil, rebuildUsage, true},
		{"an output that is none", again.rebuild, []string{"-o", "yaml", "telegram/5"}, "want text or json", true},
		{"a flag that is none", again.rebuild, []string{"--soon", "telegram/5"}, "-soon", true},
		{"a setting that is wrong", again.rebuild, []string{"--lease=x", "telegram/5"}, "--lease", true},
		{"with a checkpoint", again.rebuild, []string{"telegram/5"}, "nothing to rebuild", false},
		{"dry", func(args []string) error { lose(t, servers, "telegram.5"); return again.rebuild(args) },
			[]string{"--dry-run", "telegram/5"}, "telegram/5: would be rebuilt from ", false},
		{"dry as json", again.rebuild, []string{"--dry-run", "-o", "json", "telegram/5"}, `"records": 1,`, false},
		{"for real", again.rebuild, []string{"telegram/5"}, "telegram/5: rebuilt at revision", false},
	} {
		out.Reset()
		err := c.do(c.args)
		got := out.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || config.IsWrong(err) != c.bad {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
	out.Reset()
	if err := other.replay([]string{"--against"}); !strings.Contains(out.String(), "telegram/5  differs at #1  message  (0 records are the same)\n"+
		"    user: /hi\n    then: hello\n    now:  good day\n") {
		t.Errorf("got %q, %v, want the difference", out.String(), err)
	}
	t.Setenv("BOTMESH_TELEGRAM_TOKEN", "")
	out.Reset()
	if err := again.replay([]string{"telegram/5"}); err != nil || !strings.Contains(out.String(), "replayed 1 records") {
		t.Errorf("without a platform's token: got %q, %v, want the replay", out.String(), err)
	}
	if err := again.replay([]string{"--against"}); !config.IsWrong(err) || !strings.Contains(err.Error(), "BOTMESH_TELEGRAM_TOKEN is not set") {
		t.Errorf("a comparison without a platform's token: got %v, want it refused", err)
	}
	if got := telegram.Texts("5"); len(got) != 1 {
		t.Errorf("got %q, want the one answer", got)
	}
}

func TestWhoAsksForHelpIsShownIt(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{"": false, "--bot=shop": false, "replay telegram/5": true, "flows": true, "replay --help": false, "rebuild -h": false} {
		if got := command(strings.Fields(args), workerd.Program(), bot.New(), nil) != nil; got != want {
			t.Errorf("%q: got a command: %t, want %t", args, got, want)
		}
	}
}

// serveOne has a worker answer one message and end.
func serveOne(t *testing.T, b *bot.Bot, telegram *telegramtest.Server, servers string) {
	t.Helper()
	loaded, err := workerd.Program().Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	runner, err := New(Config{Bot: b})
	if err != nil {
		t.Fatal(err)
	}
	w, err := workerd.New(t.Context(), workerd.Config{Settings: loaded.Config, Runner: runner})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	natstest.Until(t, "ready", func() bool { return w.Ready(t.Context()) == nil })
	conn, err := jet.Dial(t.Context(), jet.Config{URL: servers})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	j, err := journal.NewPublisher(journal.Config{Bot: "demo", Inbox: conn.Stream(journal.InboxStream("demo"))})
	if err != nil {
		t.Fatal(err)
	}
	natstest.Until(t, "published", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := j.Publish(ctx, botmesh.Record{
			Type: botmesh.TypeMessage, ID: "1", User: "5", Chat: botmesh.ChatKey{Provider: "telegram", Chat: "5"}, Message: botmesh.Message{Text: "/hi"},
		})
		return err == nil
	})
	natstest.Until(t, "answered", func() bool { return len(telegram.Texts("5")) == 1 })
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// lose deletes a chat's checkpoint.
func lose(t *testing.T, servers, chat string) {
	t.Helper()
	conn, err := nats.Connect(servers)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), "KV_BOT_demo_CP")
	if err == nil {
		err = s.Purge(t.Context(), jetstream.WithPurgeSubject("$KV.BOT_demo_CP."+chat))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A chat is shown that differs, or of which nobody can tell all, not one that is the same.
//
// SPEC: J7
func TestTheSameIsNotShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		found replay.Compared
		want  bool
	}{
		{replay.Compared{Verdict: replay.Same, Records: 3}, false},
		{replay.Compared{Verdict: replay.Same, Records: 3, Skipped: 1, Why: "#2 was set aside"}, true},
		{replay.Compared{Verdict: replay.Differs, Seq: 1}, true},
		{replay.Compared{Verdict: replay.Incomparable}, true},
	} {
		if got := telling(c.found); got != c.want {
			t.Errorf("%s: got %t, want %t", c.found, got, c.want)
		}
	}
}
