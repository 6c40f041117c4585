package bot_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
)

// talker is a midway that knows what the user says meanwhile.
type talker struct {
	coming chan botmesh.Record
	cut    context.CancelCauseFunc
	given  []botmesh.Record
}

func (*talker) Keep(context.Context, []byte) error                       { return nil }
func (*talker) SendNow(context.Context, botmesh.Send) error              { return nil }
func (*talker) User(context.Context) (map[string]json.RawMessage, error) { return nil, nil }

func (m *talker) Next(ctx context.Context) (botmesh.Record, error) {
	select {
	case r := <-m.coming:
		m.given = append(m.given, r)
		return r, nil
	case <-ctx.Done():
		return botmesh.Record{}, context.Cause(ctx)
	}
}

func (m *talker) Interrupt(context.Context) error {
	m.cut(botmesh.ErrInterrupted)
	return botmesh.ErrInterrupted
}

func wrote(seq uint64, text string) botmesh.Record {
	return botmesh.Record{Type: botmesh.TypeMessage, Seq: seq, Message: botmesh.Message{Text: text}}
}

// during runs a first message of a bot, and what comes during its run, as a dispatcher
// does. It returns what is said in the end and how far it goes.
func during(t *testing.T, b *bot.Bot, first string, more ...string) (texts []string, through uint64) {
	t.Helper()
	if err := b.Validate(); err != nil {
		t.Fatal(err)
	}
	m := &talker{coming: make(chan botmesh.Record, len(more))}
	for i, text := range more {
		m.coming <- wrote(uint64(i+2), text)
	}
	run := botmesh.Run{Record: wrote(1, first)}
	for {
		ctx, cut := context.WithCancelCause(t.Context())
		m.cut = cut
		out, err := b.Turn(ctx, run, m)
		cut(nil)
		if errors.Is(context.Cause(ctx), botmesh.ErrInterrupted) {
			run.Also = m.given
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range out.Sends {
			texts = append(texts, s.Text)
		}
		return texts, out.Through
	}
}

// thinking answers when nothing more is to come, which "done" says.
func thinking(c *bot.Context) error {
	all := []botmesh.Message{c.Record().Message}
	all = append(all, c.Also()...)
	for all[len(all)-1].Text != "done" {
		select {
		case m := <-c.Incoming():
			all = append(all, m)
		case <-c.Context().Done():
			return context.Cause(c.Context())
		}
	}
	for _, m := range all {
		c.Say(m.Text)
	}
	return nil
}

// SPEC: T3. A message that comes while a handler runs waits, joins it or interrupts it;
// commands wait, and /cancel ends the run.
func TestWhatComesMeanwhileIsForThePolicy(t *testing.T) {
	t.Parallel()
	policy := func(p flow.Policy) *bot.Bot { return bot.New().Meanwhile(p).Fallback(thinking) }
	for name, c := range map[string]struct {
		bot     *bot.Bot
		says    []string
		want    []string
		through uint64
	}{
		"queue":                {policy(flow.Queue), []string{"done", "b"}, []string{"done"}, 0},
		"join":                 {policy(flow.Join), []string{"a", "b", "done", "c"}, []string{"a", "b", "done"}, 3},
		"interrupt":            {policy(flow.Interrupt), []string{"a", "b", "done"}, []string{"a", "b", "done"}, 0},
		"cancel a joined run":  {policy(flow.Join), []string{"a", "b", "/cancel"}, []string{"cancelled"}, 0},
		"cancel an open run":   {policy(flow.Interrupt), []string{"a", "b", "/CANCEL"}, []string{"cancelled"}, 0},
		"a handler by itself":  {bot.New().Command("/go", func(c *bot.Context) error { c.Meanwhile(flow.Join); return thinking(c) }), []string{"/go", "done"}, []string{"/go", "done"}, 2},
		"a handler has enough": {policy(flow.Join).Command("/go", func(c *bot.Context) error { <-c.Incoming(); c.Say("ok"); return nil }), []string{"/go", "a", "b"}, []string{"ok"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, through := during(t, c.bot, c.says[0], c.says[1:]...)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
			if through != c.through {
				t.Errorf("got through %d, want %d", through, c.through)
			}
		})
	}
}

// A command neither interrupts nor joins: the message that it follows is answered first.
func TestACommandWaitsForTheRun(t *testing.T) {
	t.Parallel()
	for _, p := range []flow.Policy{flow.Join, flow.Interrupt} {
		synctest.Test(t, func(t *testing.T) {
			m := &talker{coming: make(chan botmesh.Record, 1)}
			m.coming <- wrote(2, "/count")
			b := bot.New().Meanwhile(p).Command("/count", func(*bot.Context) error { return nil }).Fallback(func(c *bot.Context) error {
				synctest.Wait() // it was looked at
				select {
				case m := <-c.Incoming():
					c.Say("got " + m.Text)
				case <-c.Context().Done():
					return context.Cause(c.Context())
				default:
					c.Say("answered")
				}
				return nil
			})
			ctx, cut := context.WithCancelCause(t.Context())
			defer cut(nil)
			m.cut = cut
			out, err := b.Turn(ctx, botmesh.Run{Record: wrote(1, "a")}, m)
			if err != nil || len(out.Sends) != 1 || out.Sends[0].Text != "answered" || out.Through != 0 || len(m.given) != 1 {
				t.Errorf("policy %d: got %+v, %v, want an answer, and the command to wait", p, out, err)
			}
		})
	}
}

// A flow has a policy of its own.
func TestAFlowSaysWhatBecomesOfMessagesMeanwhile(t *testing.T) {
	t.Parallel()
	type state struct{}
	f := flow.New[state]("plan", flow.Trigger("/plan"), flow.Meanwhile(flow.Join))
	flow.Script(f, "all", func(c *flow.Talk[state]) (flow.Next, error) {
		c.Say("heard " + (<-c.Incoming()).Text)
		_, err := flow.Await(c, "more", ask.Text(), "And?")
		return c.End(), err
	})
	synctest.Test(t, func(t *testing.T) { // where to wait for ever is an end
		got, through := during(t, bot.New().Flow(f), "/plan", "quick")
		if diff := cmp.Diff([]string{"heard quick", "And?"}, got); diff != "" || through != 2 {
			t.Errorf("through %d; said (-want +got):\n%s", through, diff)
		}
	})
}

// Hooks see what joins a run or interrupts it: it is changed before the handler has it,
// one that is dropped has no effect, and one that is answered waits for its own run.
func TestHooksSeeWhatComesMeanwhile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy  flow.Policy
		says    []string
		want    []string
		through uint64
	}{
		"join":               {flow.Join, []string{"a", "spam", "voice", "done"}, []string{"a", "heard voice", "done"}, 4},
		"interrupt":          {flow.Interrupt, []string{"a", "spam", "voice", "done"}, []string{"a", "heard voice", "done"}, 0},
		"joined by the rude": {flow.Join, []string{"wait", "rude", "done"}, []string{"waited"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			looks := make(chan struct{}, 100)
			b := bot.New().Meanwhile(c.policy).BeforeMessage(func(in *bot.Incoming) error {
				switch in.Message.Text {
				case "spam":
					return bot.Drop("")
				case "rude":
					looks <- struct{}{}
					return bot.Drop("Please be kind.")
				case "voice":
					text, err := flow.Do(in, "hear", func(context.Context, string) (string, error) { return "heard voice", nil })
					in.Message.Text = text
					return err
				}
				return nil
			})
			b.Fallback(func(c *bot.Context) error {
				if c.Text() != "wait" {
					return thinking(c)
				}
				<-looks
				c.Say("waited")
				return nil
			})
			got, through := during(t, b, c.says[0], c.says[1:]...)
			if diff := cmp.Diff(c.want, got); diff != "" || through != c.through {
				t.Errorf("got through %d, want %d; said (-want +got):\n%s", through, c.through, diff)
			}
		})
	}
}

// SPEC: H7 T3. A live conversation is joined by what comes meanwhile; /cancel ends its run and it,
// and that is all the user is told.
func TestALiveConversationAtWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		coming []string
		says   string
	}{
		"joined":    {[]string{"b", "done"}, "a b done"},
		"cancelled": {[]string{"b", "/cancel"}, "cancelled"},
	} {
		b := bot.New().Handover(bot.Handover{Lost: bot.Notify}).
			Flow(flow.NewLive("live", func(l *flow.Live) error {
				all, err := flow.Wait(l, ask.Text(), "Well?")
				if err != nil {
					return err
				}
				for !strings.HasSuffix(all, "done") {
					select {
					case m := <-l.Incoming():
						all += " " + m.Text
					case <-l.Context().Done():
						return context.Cause(l.Context())
					}
				}
				l.Say(all)
				return nil
			}, flow.Trigger("/go"), flow.Meanwhile(flow.Join)))
		lives := flow.NewLives(nil)
		begun, err := b.TurnIn(t.Context(), lives, botmesh.Run{Record: wrote(1, "/go"), Now: time.Now()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		m := &talker{coming: make(chan botmesh.Record, len(c.coming))}
		for i, text := range c.coming {
			m.coming <- wrote(uint64(i+3), text)
		}
		ctx, cut := context.WithCancelCause(t.Context())
		m.cut = cut
		run := botmesh.Run{Record: wrote(2, "a"), State: begun.State, Now: time.Now()}
		out, err := b.TurnIn(ctx, lives, run, m)
		if errors.Is(context.Cause(ctx), botmesh.ErrInterrupted) {
			run.Also = m.given
			out, err = b.TurnIn(t.Context(), lives, run, m)
		}
		cut(nil)
		if err != nil || len(out.Sends) != 1 || out.Sends[0].Text != c.says || out.State != nil {
			t.Errorf("%s: got %+v, %v, want %q and nothing kept", name, out, err, c.says)
		}
		if err := lives.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A live conversation ends with what is kept of its chat, when an operator has that forgotten.
func TestALiveConversationIsForgotten(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	b := bot.New().Handover(bot.Handover{Lost: bot.Notify}).
		Flow(flow.NewLive("live", func(l *flow.Live) error {
			_, err := flow.Wait(l, ask.Text(), "Well?")
			ended <- err
			return err
		}, flow.Trigger("/go")))
	lives := flow.NewLives(nil)
	begun, err := b.TurnIn(t.Context(), lives, botmesh.Run{Record: wrote(1, "/go"), Now: time.Now()}, nil)
	if err != nil || lives.Len() != 1 {
		t.Fatalf("got %v, with %d conversations, want one", err, lives.Len())
	}
	forget := wrote(2, "")
	forget.Type, forget.Resume = botmesh.TypeCommand, &botmesh.Resume{Forget: true}
	out, err := b.TurnIn(t.Context(), lives, botmesh.Run{Record: forget, State: begun.State, Now: time.Now()}, nil)
	if err != nil || out.State != nil || lives.Len() != 0 {
		t.Errorf("got %+v, %v, with %d conversations, want nothing kept and none", out, err, lives.Len())
	}
	if err := lives.Close(t.Context()); err != nil || <-ended == nil {
		t.Errorf("close: %v; want the function told that it ends", err)
	}
}
