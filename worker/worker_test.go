package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/dispatcher"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBroken = errors.New("broken")

// sent records what is sent at once.
type sent []string

func (s *sent) SendNow(_ context.Context, m botmesh.Send) error {
	*s = append(*s, m.Text)
	return nil
}

func (s *sent) Keep(context.Context, []byte) error { return nil }

func (s *sent) User(context.Context) (map[string]json.RawMessage, error) { return nil, nil }

func newWorker(t *testing.T, b *bot.Bot, log *slog.Logger) *worker.Worker {
	t.Helper()
	w, err := worker.New(worker.Config{Bot: b, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func message(text string) botmesh.Run {
	return botmesh.Run{
		Record: botmesh.Record{Seq: 7, Type: botmesh.TypeMessage, Chat: botmesh.ChatKey{Provider: "p", Chat: "1"}, Message: botmesh.Message{Text: text}},
		Try:    1,
	}
}

func TestRunDecides(t *testing.T) {
	t.Parallel()
	const visits bot.State[int] = "visits"
	w := newWorker(t, bot.New().Command("/hi", func(c *bot.Context) error {
		*visits.Of(c)++
		if err := c.SendNow(botmesh.Send{Text: "one moment"}); err != nil {
			return err
		}
		c.Say("hello")
		return nil
	}), nil)
	var now sent
	got, err := w.Run(t.Context(), message("/hi"), &now)
	want := botmesh.Outcome{State: []byte(`{"v":1,"values":{"visits":1}}`), Sends: []botmesh.Send{{Text: "hello"}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("got error %v, outcome (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff(sent{"one moment"}, now); diff != "" {
		t.Errorf("sent at once (-want +got):\n%s", diff)
	}
}

func TestAHandlersErrorIsReturned(t *testing.T) {
	t.Parallel()
	w := newWorker(t, bot.New().Command("/fail", func(*bot.Context) error { return errBroken }), nil)
	if out, err := w.Run(t.Context(), message("/fail"), nil); !errors.Is(err, errBroken) || !cmp.Equal(out, botmesh.Outcome{}) {
		t.Errorf("got %+v, %v, want the handler's error", out, err)
	}
}

// A panic is a failed try whose error says where, and nothing of what a user wrote.
func TestAPanicIsAFailedTry(t *testing.T) {
	t.Parallel()
	b := bot.New().
		Command("/say <text>", func(c *bot.Context) error { panic("can not bear " + c.Args()) }).
		Command("/index", func(c *bot.Context) error { return []error{nil}[len(c.Args())] }).
		Flow(flow.NewLive("live", func(c *flow.Live) error { panic(errors.New(c.Text())) }, flow.Trigger("/live")))
	var log bytes.Buffer
	w := newWorker(t, b, slog.New(slog.NewJSONHandler(&log, nil)))
	for text, what := range map[string]string{
		"/say secret":   "a value of type string",
		"/live secret":  "a value of type *errors.errorString",
		"/index secret": "runtime error: index out of range [6] with length 1",
	} {
		log.Reset()
		out, err := w.Run(t.Context(), message(text), nil)
		var p *worker.PanicError
		if !errors.As(err, &p) || !cmp.Equal(out, botmesh.Outcome{}) {
			t.Fatalf("%s: got %+v, %v, want a PanicError", text, out, err)
		}
		if p.What != what {
			t.Errorf("%s: got %q, want %q", text, p.What, what)
		}
		if !strings.HasPrefix(p.Where, "github.com/botmesh-go/botmesh/worker_test.TestAPanicIsAFailedTry.") || strings.Contains(p.Where, "runtime.") {
			t.Errorf("%s: got %q, want the calls from the handler out", text, p.Where)
		}
		if all := err.Error() + log.String(); strings.Contains(all, "secret") {
			t.Errorf("%s: got the user's text in %s", text, all)
		}
		for _, want := range []string{`"msg":"handler panicked"`, `"chat":"p/1"`, `"seq":7`, `"attempt":1`, "worker_test.go"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%s: got log %s, want %s in it", text, log.String(), want)
			}
		}
	}
}

// SPEC: T4 T7. Whatever a handler makes of the end of its context, the run ends
// with its cause.
func TestAStoppedRunEndsWithTheCause(t *testing.T) {
	t.Parallel()
	does := func(context.Context, string) (string, error) {
		t.Error("a handler does something after its end")
		return "", nil
	}
	for name, handler := range map[string]bot.Handler{
		"heeds it":   func(c *bot.Context) error { <-c.Context().Done(); return c.Context().Err() },
		"ignores it": func(c *bot.Context) error { <-c.Context().Done(); c.Say("late"); return nil },
		"fails":      func(c *bot.Context) error { <-c.Context().Done(); return errBroken },
		"panics":     func(c *bot.Context) error { <-c.Context().Done(); panic("late") },
		"sends": func(c *bot.Context) error {
			<-c.Context().Done()
			return c.SendNow(botmesh.Send{Text: "late"})
		},
		"does something": func(c *bot.Context) error {
			<-c.Context().Done()
			_, err := flow.Do(c, "pay", does)
			return err
		},
	} {
		ctx, stop := context.WithCancelCause(t.Context())
		w := newWorker(t, bot.New().Command("/wait", func(c *bot.Context) error {
			stop(&botmesh.LeaseLostError{Key: "p.1", Reason: botmesh.LossSettled})
			return handler(c)
		}), nil)
		var now sent
		out, err := w.Run(ctx, message("/wait"), &now)
		var lost *botmesh.LeaseLostError
		if !errors.As(err, &lost) || lost.Reason != botmesh.LossSettled || !cmp.Equal(out, botmesh.Outcome{}) {
			t.Errorf("a handler that %s: got %+v, %v, want the cause", name, out, err)
		}
		if len(now) > 0 {
			t.Errorf("a handler that %s: got %q sent, want nothing", name, now)
		}
	}
}

// SPEC: T4. A handler that left something running can not send any more.
func TestNothingIsSentAfterARun(t *testing.T) {
	t.Parallel()
	var kept *bot.Context
	w := newWorker(t, bot.New().Command("/keep", func(c *bot.Context) error { kept = c; return nil }), nil)
	var now sent
	if _, err := w.Run(t.Context(), message("/keep"), &now); err != nil {
		t.Fatal(err)
	}
	if err := kept.SendNow(botmesh.Send{Text: "late"}); err == nil || len(now) > 0 {
		t.Errorf("got error %v and %q sent, want an error and nothing sent", err, now)
	}
}

func TestNewRefusesABotThatIsNotValid(t *testing.T) {
	t.Parallel()
	if _, err := worker.New(worker.Config{}); err == nil {
		t.Error("no bot: got no error, want one")
	}
	_, err := worker.New(worker.Config{Bot: bot.New().Command("hi", nil).Flow(flow.New[struct{}]("empty"))})
	for _, want := range []string{`command "hi" has no handler`, "flow empty: has no steps"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
}

// What a deployment says of flows that are not kept holds for a bot that says nothing of
// them, and the bot itself stays as it is.
//
// SPEC: H6 H7
func TestTheDeploymentDecidesOfHandoversWhereTheBotDoesNot(t *testing.T) {
	t.Parallel()
	game := func() *bot.Bot {
		f := flow.New[struct{}]("game", flow.Trigger("/game"), flow.Ephemeral(0))
		flow.Ask(f, "guess", ask.Text(), "Guess?", func(c *flow.C[struct{}], s string) flow.Next { c.Say("no " + s); return c.End() })
		return bot.New().Flow(f).Fallback(func(c *bot.Context) error { c.Say("what is " + c.Text()); return nil })
	}
	for name, c := range map[string]struct {
		b    *bot.Bot
		set  bot.Handover
		want string
	}{
		"nobody":         {game(), bot.Handover{}, "what is 7"},
		"the deployment": {game(), bot.Handover{Forward: true}, "no 7"},
		"its fallback":   {game(), bot.Handover{Lost: bot.Restart}, "Guess?"},
		"the bot":        {game().Handover(bot.Handover{}), bot.Handover{Forward: true, Lost: bot.Notify}, "what is 7"},
	} {
		w, err := worker.New(worker.Config{Bot: c.b, Handover: c.set})
		if err != nil {
			t.Fatal(err)
		}
		out, err := w.Run(t.Context(), message("/game"), &sent{})
		if err != nil {
			t.Fatal(err)
		}
		next := message("7")
		next.State, next.From = out.State, "another"
		if out, err = w.Run(t.Context(), next, &sent{}); err != nil || len(out.Sends) != 1 || out.Sends[0].Text != c.want {
			t.Errorf("%s: got %+v and error %v, want %q", name, out.Sends, err, c.want)
		}
		if _, err := worker.New(worker.Config{Bot: c.b, Handover: bot.Handover{TTL: -1}}); (err != nil) != (name != "the bot") {
			t.Errorf("%s: a wrong TTL: got error %v", name, err)
		}
		if err := c.b.Validate(); err != nil {
			t.Errorf("%s: the bot has changed: %v", name, err)
		}
	}
}

// What the bot's author says is late counts for all deployments.
func TestADeploymentSaysWhatIsLateForABotThatDoesNot(t *testing.T) {
	t.Parallel()
	quiet := func() *bot.Bot {
		return bot.New().Fallback(func(c *bot.Context) error { c.Sayf("late: %t", c.Stale()); return nil })
	}
	for name, c := range map[string]struct {
		b    *bot.Bot
		set  time.Duration
		want string
	}{
		"nobody":         {quiet(), 0, "late: false"},
		"the deployment": {quiet(), time.Hour, "late: true"},
		"the bot":        {quiet().StaleAfter(24 * time.Hour), time.Hour, "late: false"},
	} {
		w, err := worker.New(worker.Config{Bot: c.b, StaleAfter: c.set})
		if err != nil {
			t.Fatal(err)
		}
		run := message("hi")
		run.Now = time.Unix(1_800_000_000, 0)
		run.Record.SentAt = run.Now.Add(-2 * time.Hour)
		if out, err := w.Run(t.Context(), run, &sent{}); err != nil || len(out.Sends) != 1 || out.Sends[0].Text != c.want {
			t.Errorf("%s: got %+v and error %v, want %q", name, out.Sends, err, c.want)
		}
	}
	if _, err := worker.New(worker.Config{Bot: quiet(), StaleAfter: -1}); err == nil {
		t.Error("got a worker for which all is late, want an error")
	}
}

// The hook is told of what failed: not of what was stopped for another reason, and its
// own panic harms nothing.
func TestOnErrorIsToldOfFailures(t *testing.T) {
	t.Parallel()
	var told []string
	b := bot.New().
		Command("/fail", func(*bot.Context) error { return errBroken }).
		Command("/panic", func(*bot.Context) error { panic("secret") }).
		Command("/well", func(*bot.Context) error { return nil }).
		OnError(func(_ context.Context, r botmesh.Run, err error) {
			told = append(told, r.Record.Message.Text+": "+err.Error())
			panic("in the hook")
		})
	w := newWorker(t, b, nil)
	for _, text := range []string{"/fail", "/panic", "/well"} {
		if _, err := w.Run(t.Context(), message(text), nil); (err == nil) != (text == "/well") {
			t.Errorf("%s: got error %v", text, err)
		}
	}
	for _, reason := range []botmesh.LossReason{botmesh.LossStalled, botmesh.LossSettled} {
		ctx, stop := context.WithCancelCause(t.Context())
		stop(&botmesh.LeaseLostError{Key: "p.1", Reason: reason})
		if _, err := w.Run(ctx, message("/fail"), nil); !errors.Is(err, botmesh.ErrLeaseLost) {
			t.Errorf("%s: got error %v, want the cause", reason, err)
		}
	}
	if len(told) != 3 || told[0] != "/fail: broken" || !strings.Contains(told[1], "panicked") || !strings.Contains(told[2], "settled") {
		t.Errorf("got %q, want the failure, the panic and the run that took too long", told)
	}
}

// SPEC: H11. A bot hears of turns that its process lost.
func TestABotHearsOfLostTurns(t *testing.T) {
	t.Parallel()
	var told []botmesh.TurnLost
	w := newWorker(t, bot.New().OnTurnLost(func(_ context.Context, m botmesh.TurnLost) { told = append(told, m) }), nil)
	var observer dispatcher.LossObserver = w
	m := botmesh.TurnLost{Chat: botmesh.ChatKey{Provider: "p", Chat: "1"}, Fence: 3, Reason: botmesh.LossStalled}
	observer.TurnLost(t.Context(), m)
	if diff := cmp.Diff([]botmesh.TurnLost{m}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// A worker that is closed ends its live conversations, and says so if one does not end.
func TestCloseEndsLiveConversations(t *testing.T) {
	t.Parallel()
	for name, heeds := range map[string]bool{"ends": true, "stays": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ended, stuck := make(chan error, 1), make(chan struct{})
			w := newWorker(t, bot.New().Flow(flow.NewLive("live", func(c *flow.Live) error {
				_, err := flow.Wait(c, ask.Text(), "Well?")
				ended <- err
				if !heeds {
					<-stuck
				}
				return err
			}, flow.Trigger("/live"))), nil)
			out, err := w.Run(t.Context(), message("/live"), nil)
			if err != nil || !w.Stays(out.State) {
				t.Fatalf("got %+v, %v, want a state that stays", out, err)
			}
			err = w.Close()
			close(stuck)
			if (err == nil) != heeds {
				t.Errorf("got error %v, want one: %t", err, !heeds)
			}
			if got := <-ended; got != flow.ErrOver {
				t.Errorf("got error %v of Wait, want ErrOver", got)
			}
		})
	}
}
