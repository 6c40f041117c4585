package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/examples/demo"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

// The lines of DESIGN §8, one test each.

func TestStartGreetsAndListsCommands(t *testing.T) {
	t.Parallel()
	flowtest.Play(t, demo.Bot()).User("/start").Bot(greeting).User("/help").Bot(greeting)
}

const greeting = `Hello! I know these commands:
/start
/help
/echo <text>
/count
/order
/quiz
/slow <seconds>
/burst <1-1000>
/remind <duration> <text>
/fail <times>
/poison
/whoami
/cancel`

func TestEcho(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, demo.Bot())
	p.User("/echo hello,  world\nand you").Bot("hello,  world\nand you")
	p.User("/echo /count").Bot("/count")
	p.User("/echo").Bot("usage: /echo <text>")
}

// SPEC: H10. A count that was lost is counted once all the same.
func TestCount(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, demo.Bot())
	p.User("/count").Bot("count: 1")
	p.CrashOn("/count").Bot("count: 2")
	p.User("/count@demo_bot").Bot("count: 3")
	flowtest.Play(t, demo.Bot()).User("/count").Bot("count: 1")
}

func TestOrder(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, demo.Bot())
	p.User("/order").Bot("What would you like to order?")
	p.CrashOn("pizza").Bot("How many?")
	for _, text := range []string{"0", "100", "some"} {
		p.User(text).Bot("Please send a whole number from 1 to 99.\nHow many?")
	}
	p.User("2").Bot("2 x pizza, is that right?").Buttons("Yes", "No")
	p.User("perhaps").Bot("Please answer yes or no.\n2 x pizza, is that right?").Buttons("Yes", "No")
	p.CrashOn("yes").Bot("ordered: 2 x pizza").Idle()

	p.User("/order").Bot("What would you like to order?").User("tea").Bot("How many?")
	p.User("99").Bot("99 x tea, is that right?").Tap("Yes").Bot("ordered: 99 x tea").Idle()

	p.User("/order").Bot("What would you like to order?").User("tea").Bot("How many?")
	p.User("1").Bot("1 x tea, is that right?").User("no").Bot("cancelled").Idle()
}

// SPEC: H13. The quiz goes on at any question, on a replica that knows nothing of it.
func TestQuiz(t *testing.T) {
	t.Parallel()
	for want, answers := range map[string][]string{
		"score: 3/3": {"4", "paris", " 9 "},
		"score: 1/3": {"5", "Paris", "six"},
		"score: 0/3": {"four", "Lyon", "33"},
	} {
		p := flowtest.Play(t, demo.Bot()).Repeated()
		p.User("/quiz").Bot("What is 2 + 2?").HandOver(demo.Bot())
		p.CrashOn(answers[0]).Bot("What is the capital of France?").HandOver(demo.Bot())
		p.User("/count").Bot("count: 1")
		p.CrashOn(answers[1]).Bot("What is 3 * 3?").HandOver(demo.Bot())
		p.CrashOn(answers[2]).Bot(want).Idle()
	}
	p := flowtest.Play(t, demo.Bot())
	p.User("/quiz").Bot("What is 2 + 2?").User("4").Bot("What is the capital of France?")
	p.User("/order").Bot("please finish quiz first, or /cancel")
	p.User("/quiz").Bot("What is 2 + 2?").User("/cancel").Bot("cancelled").Idle()
}

func TestRemind(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, demo.Bot())
	p.User("/remind 10m the tea").Bot("ok").User("/remind 5m egg").Bot("ok")
	p.Advance(7 * time.Minute).Bot("reminder: egg").Advance(time.Hour).Bot("reminder: the tea").Advance(time.Hour).Silent()
	for _, wrong := range []string{"/remind", "/remind 10m", "/remind soon x", "/remind -1m x"} {
		p.User(wrong).Bot("usage: /remind <duration> <text>")
	}
}

func TestACommandIsNeverAnAnswer(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, demo.Bot())
	p.User("/order").Bot("What would you like to order?")
	p.User("/count").Bot("count: 1").User("/echo pizza").Bot("pizza")
	p.User("/burst 0").Bot("usage: /burst <1-1000>").User("/whoami@demo_bot").Bot("test/1")
	p.User("/pizza").Bot("unknown command: /pizza")
	p.User("tea").Bot("How many?")
	p.User("/order").Bot("What would you like to order?")
	p.User("coffee").Bot("How many?").User("3").Bot("3 x coffee, is that right?").Tap("No").Bot("cancelled")
}

func TestCancel(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, demo.Bot())
	p.User("/cancel").Bot("nothing to cancel")
	p.User("/order").Bot("What would you like to order?").User("tea").Bot("How many?")
	p.User("/cancel").Bot("cancelled").Idle()
	p.User("2").Bot("you said: 2")
}

// SPEC: H10. The word that it works is sent at once, and once.
func TestSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := flowtest.Play(t, demo.Bot())
		for typed, want := range map[string]time.Duration{"0": 0, "30": 30 * time.Second, "007": 7 * time.Second, "1.50": 1500 * time.Millisecond} {
			began := time.Now()
			p.User("/slow "+typed).Bot("working", "done after "+typed+"s")
			if got := time.Since(began); got != want {
				t.Errorf("/slow %s: got %v, want %v", typed, got, want)
			}
		}
		p.CrashOn("/slow 5").Bot("working", "done after 5s")
		for _, args := range []string{"", " x", " -1", " 3601", " NaN", " 5s", " 1 2"} {
			p.User("/slow" + args).Bot("usage: /slow <seconds>")
		}
	})
}

// sends takes what is sent at once.
type sends chan string

func (s sends) SendNow(_ context.Context, m botmesh.Send) error          { s <- m.Text; return nil }
func (s sends) Keep(context.Context, []byte) error                       { return nil }
func (s sends) User(context.Context) (map[string]json.RawMessage, error) { return nil, nil }

// SPEC: T4.
func TestSlowStopsWithItsContext(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	now := make(sends, 1)
	ended := make(chan error, 1)
	go func() {
		_, err := demo.Bot().Turn(ctx, botmesh.Run{
			Record: botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Text: "/slow 3600"}},
		}, now)
		ended <- err
	}()
	if got := <-now; got != "working" {
		t.Errorf("at once: got %q, want working", got)
	}
	stop(stopped)
	if err := <-ended; !errors.Is(err, stopped) {
		t.Errorf("got error %v, want the cause", err)
	}
}

func TestBurst(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, demo.Bot())
	p.User("/burst 1").Bot("1/1")
	p.User("/burst 3").Bot("1/3", "2/3", "3/3")
	want := make([]string, 1000)
	for i := range want {
		want[i] = fmt.Sprintf("%d/1000", i+1)
	}
	p.User("/burst 1000").Bot(want...)
	for _, args := range []string{"", " 0", " 1001", " x", " 1.5"} {
		p.User("/burst" + args).Bot("usage: /burst <1-1000>")
	}
}

// SPEC: J8.
func TestFailAndPoison(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, demo.Bot())
	p.User("/fail 0").Bot("recovered after 0")
	p.Flaky("/fail 2", 2).Bot("recovered after 2")
	p.Flaky("/fail 4", 4).Bot("recovered after 4")
	p.Poison("/fail 5").Silent()
	p.User("/order").Bot("What would you like to order?")
	p.Poison("/poison").Silent()
	p.User("tea").Bot("How many?")
	for _, args := range []string{"", " -1", " x"} {
		p.User("/fail" + args).Bot("usage: /fail <times>")
	}
}

// SPEC: T2. In a group each participant is a chat.
func TestWhoami(t *testing.T) {
	t.Parallel()
	whoami := botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Text: "/whoami"}}
	p := flowtest.Play(t, demo.Bot()).Record(whoami).Bot("test/1")
	whoami.Chat = botmesh.ChatKey{Provider: "telegram", Chat: "-100123", Participant: "55"}
	p.Record(whoami).Bot("telegram/-100123/55")
}

func TestOtherText(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, demo.Bot())
	p.User("hello /there").Bot("you said: hello /there")
	p.User("/unknown@demo_bot x").Bot("unknown command: /unknown")
	p.User("").Bot("I can read only text.")
}

func TestCrashIsUnknownUnlessAskedFor(t *testing.T) {
	t.Parallel()
	flowtest.Play(t, demo.Bot()).User("/crash").Bot("unknown command: /crash")
}

// TestCrashKillsTheProcess runs this test binary again, to be killed.
func TestCrashKillsTheProcess(t *testing.T) {
	t.Parallel()
	if os.Getenv("BOTMESH_DEMO_CRASH") == "1" {
		flowtest.Play(t, demo.Bot()).User("/crash")
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrashKillsTheProcess$")
	cmd.Env = append(os.Environ(), "BOTMESH_DEMO_CRASH=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("got %v, want it killed; it said:\n%s", err, out)
	}
}

// The chats of testdata go as they are written there; go test -update writes them.
func TestChats(t *testing.T) {
	t.Parallel()
	flowtest.Files(t, "testdata/*.chat", func() flowtest.Bot { return demo.Bot() })
}
