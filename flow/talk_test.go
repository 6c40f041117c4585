package flow_test

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

// talks is a bot whose /talk begins a live conversation.
func talks(converse func(c *flow.Live) error, opts ...flow.Option) *bot.Bot {
	return bot.New().Flow(flow.NewLive("talk", converse, append(opts, flow.Trigger("/talk"))...)).
		Fallback(func(c *bot.Context) error { c.Say("new: " + c.Text()); return nil })
}

// heard runs a message of a chat in a process.
func heard(t *testing.T, b *bot.Bot, lives *flow.Lives, state []byte, text string) (botmesh.Outcome, error) {
	return b.TurnIn(t.Context(), lives, botmesh.Run{Now: time.Now(), State: state, Record: botmesh.Record{
		Type: botmesh.TypeMessage, Chat: botmesh.ChatKey{Provider: "test", Chat: "1"}, Message: botmesh.Message{Text: text},
	}}, nil)
}

// What a library that is bound to its thread needs is as good in a live conversation as elsewhere.
func TestALiveConversationMayLockItsThread(t *testing.T) {
	flowtest.Play(t, talks(func(c *flow.Live) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		n, err := flow.Wait(c, ask.Int(), "How many?")
		c.Sayf("%d", n)
		return err
	})).User("/talk").Bot("How many?").User("2").Bot("2").Idle()
}

func TestALiveConversationMayAskInAnotherGoroutine(t *testing.T) {
	flowtest.Play(t, talks(func(c *flow.Live) error {
		var asking sync.WaitGroup
		var n int
		var err error
		asking.Go(func() { n, err = flow.Wait(c, ask.Int(), "How many?") })
		asking.Wait()
		c.Sayf("%d", n)
		return err
	})).User("/talk").Bot("How many?").User("2").Bot("2").Idle()
}

func TestALiveConversationAsksOneQuestionAtATime(t *testing.T) {
	lives, first, second, refused := flow.NewLives(nil), make(chan error, 1), make(chan struct{}), make(chan struct{})
	b := talks(func(c *flow.Live) error {
		go func() {
			_, err := flow.Wait(c, ask.Int(), "How many?")
			first <- err
		}()
		<-second
		_, err := flow.Wait(c, ask.Int(), "And now?")
		close(refused)
		return err
	})
	o, err := heard(t, b, lives, nil, "/talk")
	if err != nil || len(o.Sends) != 1 {
		t.Fatalf("got %d questions and error %v, want the first question", len(o.Sends), err)
	}
	close(second)
	<-refused
	if _, err = heard(t, b, lives, o.State, "2"); err == nil || !strings.Contains(err.Error(), "asks one at a time") {
		t.Errorf("got error %v, want that it asks one at a time", err)
	}
	if err := <-first; err != nil && err != flow.ErrOver {
		t.Errorf("the first question: got error %v, want none or ErrOver", err)
	}
}

func TestALiveConversationThatHasEndedAsksNoMore(t *testing.T) {
	ended, late := make(chan struct{}), make(chan error, 1)
	flowtest.Play(t, talks(func(c *flow.Live) error {
		go func() {
			<-ended
			_, err := flow.Wait(c, ask.Int(), "How many?")
			late <- err
		}()
		return nil
	})).User("/talk").Idle()
	close(ended)
	if err := <-late; err != flow.ErrOver {
		t.Errorf("got error %v, want ErrOver", err)
	}
}

// Who ends its goroutine, as t.FailNow does, ends that of the turn, as any handler would.
func TestALiveConversationThatEndsItsGoroutine(t *testing.T) {
	for name, text := range map[string]string{"before it asks": "/talk", "after": "2"} {
		t.Run(name, func(t *testing.T) {
			lives, exited := flow.NewLives(nil), make(chan bool, 1)
			b := talks(func(c *flow.Live) error {
				if c.Text() == text {
					runtime.Goexit()
				}
				if _, err := flow.Wait(c, ask.Int(), "How many?"); err != nil {
					return err
				}
				runtime.Goexit()
				return nil
			})
			go func() {
				exits := true
				defer func() { exited <- exits }()
				o, err := heard(t, b, lives, nil, "/talk")
				if err == nil {
					_, err = heard(t, b, lives, o.State, "2")
				}
				t.Errorf("the turn returned with error %v", err)
				exits = false
			}()
			if !<-exited {
				t.Error("its turn returned, want the end of the goroutine")
			}
		})
	}
}

func TestQuestionsThatWaitDoesNotAsk(t *testing.T) {
	for name, opt := range map[string]flow.StepOption{
		"flow.Patience":   flow.Timeout(time.Minute, flow.Step[struct{}]("late")),
		"flow.NewLive":    flow.Settle(time.Minute),
		"of flow.NewLive": flow.Burst(time.Second),
		"Hint and":        flow.Help("A number."),
		"flow.Hint":       flow.To(flow.Step[struct{}]("there")),
		"flow.Tries":      flow.Was("there"),
		"takes":           flow.Asks("there"),
		"-1 tries":        flow.Tries(-1),
	} {
		_, err := heard(t, talks(func(c *flow.Live) error {
			_, err := flow.Wait(c, ask.Int(), "How many?", opt)
			return err
		}), nil, nil, "/talk")
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "How many") {
			t.Errorf("got error %v, want one with %q, and not the question's text", err, name)
		}
	}
	_, err := heard(t, talks(func(c *flow.Live) error {
		_, err := flow.Wait(c, ask.Int(), "")
		return err
	}), nil, nil, "/talk")
	if err == nil || !strings.Contains(err.Error(), "has no prompt") {
		t.Errorf("got error %v, want that there is no prompt", err)
	}
}

// What a conversation that waits nowhere panics with at its end is its turn's.
func TestACrashOfAConversationThatWaitsNowhereIsTold(t *testing.T) {
	defer func() {
		if crash, ok := recover().(*flow.Crash); !ok || crash.Value != "at the end" {
			t.Errorf("got %+v, want its crash", crash)
		}
	}()
	_, err := heard(t, talks(func(c *flow.Live) error {
		if _, err := flow.Wait(c, ask.Int(), "How many?"); errors.Is(err, flow.ErrOver) {
			panic("at the end")
		}
		return nil
	}), nil, nil, "/talk")
	t.Errorf("got error %v, want a panic", err)
}

// A conversation that leaves its process in the midst of a run, as the one of too many that
// waits for longest, is lost with the next try; its chat does not wait for another build.
func TestALiveConversationThatLeavesDuringARun(t *testing.T) {
	lives := flow.NewLives(nil)
	b := talks(func(c *flow.Live) error {
		_, err := flow.Wait(c, ask.Int(), "How many?")
		return err
	}).BeforeMessage(func(in *bot.Incoming) error {
		if in.Message.Text != "2" || lives.Len() == 0 {
			return nil
		}
		return lives.Close(in.Context())
	})
	o, err := heard(t, b, lives, nil, "/talk")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := heard(t, b, lives, o.State, "2"); err == nil || errors.Is(err, flow.ErrStranded) {
		t.Errorf("got error %v, want one that is not ErrStranded", err)
	}
	if o, err = heard(t, b, lives, o.State, "2"); err != nil || len(o.Sends) != 1 || o.Sends[0].Text != "new: 2" {
		t.Errorf("the next try: got %v and error %v, want the message to be like any other", o.Sends, err)
	}
}
