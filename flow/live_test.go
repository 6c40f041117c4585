package flow_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

// sums is a bot with a live conversation that adds numbers up, in a variable. What its Wait
// returns at last is told to ended.
func sums(ended chan<- error, opts ...flow.Option) *bot.Bot {
	return bot.New().Flow(flow.NewLive("sum", func(c *flow.Live) error {
		for sum := 0; ; {
			n, err := flow.Wait(c, ask.Int(), fmt.Sprintf("%d plus?", sum))
			switch {
			case errors.Is(err, flow.ErrTimeUp):
				c.Say("Too slow.")
				return nil
			case err != nil:
				if ended != nil {
					ended <- err
				}
				c.Say("never said")
				return err
			case n == 0:
				c.Say(fmt.Sprintf("That makes %d.", sum))
				return nil
			case n == 13:
				return errors.New("unlucky")
			}
			sum += n
		}
	}, append(opts, flow.Trigger("/sum"))...)).
		Command("/echo", func(c *bot.Context) error { c.Say(c.Args()); return nil }).
		Fallback(func(c *bot.Context) error { c.Say("new: " + c.Text()); return nil })
}

func TestALiveConversationGoesOn(t *testing.T) {
	flowtest.Play(t, sums(nil)).
		User("/sum").Bot("0 plus?").
		User("2").Bot("2 plus?").
		User("two").Bot("Please send a whole number.\n2 plus?").
		User("/echo hi").Bot("hi").
		User("3").Bot("5 plus?").
		User("0").Bot("That makes 5.").Idle().
		User("4").Bot("new: 4")
}

// SPEC: H4 H5 H7
func TestALiveConversationIsLostWithItsProcess(t *testing.T) {
	for name, c := range map[string]struct {
		handover bot.Handover
		says     []string
		waits    bool
	}{
		"drop":    {bot.Handover{}, []string{"new: 3"}, false},
		"forward": {bot.Handover{Forward: true}, []string{"new: 3"}, false},
		"notify":  {bot.Handover{Lost: bot.Notify}, []string{"we were interrupted, please begin again"}, false},
		"restart": {bot.Handover{Lost: bot.Restart}, []string{"0 plus?"}, true},
		"function": {bot.Handover{Decide: func(c *bot.Context, lost bot.Lost) (bool, error) {
			c.Say(fmt.Sprintf("%s is gone", lost.Flow))
			return true, nil
		}}, []string{"sum is gone"}, false},
		"function that leaves the message": {bot.Handover{Decide: func(c *bot.Context, lost bot.Lost) (bool, error) {
			c.Say("gone")
			return false, nil
		}}, []string{"gone", "new: 3"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			p := flowtest.Play(t, sums(ended).Handover(c.handover)).User("/sum").Bot("0 plus?").User("2").Bot("2 plus?")
			p.HandOver(sums(nil).Handover(c.handover))
			if err := <-ended; err != flow.ErrOver {
				t.Errorf("Wait of the copy that was left: got error %v, want ErrOver", err)
			}
			p.User("3").Bot(c.says...)
			if !c.waits {
				p.Idle().User("4").Bot("new: 4")
			}
		})
	}
}

func TestARunThatHasNoEffectEndsItsLiveConversation(t *testing.T) {
	ended := make(chan error, 1)
	flowtest.Play(t, sums(ended).Handover(bot.Handover{Lost: bot.Notify})).
		User("/sum").Bot("0 plus?").
		CrashOn("2").Bot("we were interrupted, please begin again").Idle()
	if err := <-ended; err != flow.ErrOver {
		t.Errorf("got error %v, want ErrOver", err)
	}
	flowtest.Play(t, sums(nil)).
		CrashOn("/sum").Bot("0 plus?"). // it began anew
		User("2").Bot("2 plus?").
		Flaky("13", 1).Bot("new: 13").Idle()
}

func TestALiveConversationCanBeCancelled(t *testing.T) {
	ended := make(chan error, 1)
	p := flowtest.Play(t, sums(ended)).
		User("/sum").Bot("0 plus?").
		User("/cancel").Bot("cancelled").Idle()
	if err := <-ended; err != flow.ErrOver {
		t.Errorf("got error %v, want ErrOver", err)
	}
	p.User("/sum").Bot("0 plus?").User("1").Bot("1 plus?").
		User("/sum").Bot("0 plus?"). // anew
		User("5").Bot("5 plus?")
	if err := <-ended; err != flow.ErrOver {
		t.Errorf("of the one before: got error %v, want ErrOver", err)
	}
	p.User("0").Bot("That makes 5.")
}

// SPEC: H5 H12
func TestALiveConversationWaitsAsLongAsItsPatience(t *testing.T) {
	flowtest.Play(t, sums(nil, flow.Patience(10*time.Minute))).
		User("/sum").Bot("0 plus?").
		Advance(9 * time.Minute).Silent().
		User("2").Bot("2 plus?").
		Advance(9 * time.Minute).Silent().
		Advance(time.Minute).Bot("Too slow.").Idle()
	flowtest.Play(t, sums(nil)).
		User("/sum").Bot("0 plus?").
		Advance(flow.DefaultPatience).Bot("Too slow.").Idle()
	// A process that has it not says nothing, and forgets it.
	flowtest.Play(t, sums(nil).Handover(bot.Handover{Lost: bot.Notify})).
		User("/sum").Bot("0 plus?").
		HandOver(sums(nil).Handover(bot.Handover{Lost: bot.Notify})).
		Advance(flow.DefaultPatience).Silent().
		User("3").Bot("new: 3").Idle()
}

func TestQuestionsOfALiveConversation(t *testing.T) {
	b := func() *bot.Bot {
		return bot.New().
			Language("de", map[string]string{"Which size?": "Welche Größe?", "large": "groß"}).
			Flow(flow.NewLive("order", func(c *flow.Live) error {
				size, err := flow.Wait(c, ask.Choice("s", "l").Labels("small", "large"), "Which size?", flow.Hint("One of these."), flow.Tries(3))
				switch {
				case errors.Is(err, flow.ErrGaveUp):
					c.Say("Never mind.")
					return nil
				case err != nil:
					return err
				}
				with, err := flow.Wait(c, ask.Multi("ham", "egg"), "What on it?")
				if err != nil {
					return err
				}
				if err := c.SendNow(botmesh.Send{Text: "One moment."}); err != nil {
					return err
				}
				c.Say(fmt.Sprint(size, with))
				return nil
			}, flow.Trigger("/order")))
	}
	flowtest.Play(t, b()).
		User("/order").Bot("Which size?").Buttons("small", "large").
		User("huge").Bot("One of these.\nWhich size?").
		Tap("large").Bot("What on it?").
		Tap("egg").Bot("What on it?").
		Tap("Done").Bot("One moment.", "l[egg]").Idle()
	flowtest.Play(t, b()).
		User("/order").Bot("Which size?").
		User("huge").Bot("One of these.\nWhich size?").
		User("huge").Bot("One of these.\nWhich size?").
		User("huge").Bot("Never mind.").Idle()
	flowtest.Play(t, b()).Locale("de").
		User("/order").Bot("Welche Größe?").Buttons("small", "groß").
		User("groß").Bot("What on it?")
	// A button of an earlier question is told apart.
	p := flowtest.Play(t, b()).User("/order").Bot("Which size?").Tap("small").Bot("What on it?")
	p.Record(botmesh.Record{Type: botmesh.TypeCallback, Message: botmesh.Message{Payload: "~1:s"}}).
		Bot("that button is no longer in use\nWhat on it?")
}

func TestALiveConversationThatPanics(t *testing.T) {
	b := bot.New().Flow(flow.NewLive("bad", func(c *flow.Live) error { panicInside(); return nil }, flow.Trigger("/bad")))
	defer func() {
		crash, ok := recover().(*flow.Crash)
		if !ok || crash.Value != "inside" || !strings.Contains(crash.Stack, "panicInside") {
			t.Errorf("got %+v, want the crash of panicInside", crash)
		}
	}()
	_, _ = b.Turn(t.Context(), botmesh.Run{Record: botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Text: "/bad"}}}, nil)
	t.Error("it did not panic")
}

func panicInside() { panic("inside") }

// begun runs the record that begins a sum, in a process and a chat.
func begun(ctx context.Context, b *bot.Bot, lives *flow.Lives, chat string) (botmesh.Outcome, error) {
	return b.TurnIn(ctx, lives, botmesh.Run{Now: time.Now(), Record: botmesh.Record{
		Type: botmesh.TypeMessage, Chat: botmesh.ChatKey{Provider: "test", Chat: chat}, Message: botmesh.Message{Text: "/sum"},
	}}, nil)
}

func TestWhatALiveConversationDoesTooLateHasNoEffect(t *testing.T) {
	ended := make(chan error, 2)
	lives := flow.NewLives(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the run was cut off
	if _, err := begun(ctx, sums(ended), lives, "1"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != flow.ErrOver || lives.Len() != 0 {
		t.Errorf("got error %v and %d that wait, want ErrOver and none", err, lives.Len())
	}
	if _, err := begun(t.Context(), sums(ended), nil, "1"); err != nil { // in no process
		t.Fatal(err)
	}
	if err := <-ended; err != flow.ErrOver {
		t.Errorf("got error %v, want ErrOver", err)
	}
	if err := lives.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := begun(t.Context(), sums(ended), lives, "1"); err != nil { // it stops
		t.Fatal(err)
	}
	if err := <-ended; err != flow.ErrOver {
		t.Errorf("got error %v, want ErrOver", err)
	}
}

func TestLiveConversationsOfAProcessAreBounded(t *testing.T) {
	ended := make(chan error, flow.MaxLives+1)
	lives, b := flow.NewLives(nil), sums(ended)
	for i := range flow.MaxLives + 1 {
		if _, err := begun(t.Context(), b, lives, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; err != flow.ErrOver || lives.Len() != flow.MaxLives {
		t.Errorf("got error %v and %d that wait, want ErrOver for the first and %d", err, lives.Len(), flow.MaxLives)
	}
	if err := lives.Close(t.Context()); err != nil || lives.Len() != 0 || len(ended) != flow.MaxLives {
		t.Errorf("closed: got error %v, %d that wait and %d ended", err, lives.Len(), len(ended))
	}
}

func TestAProcessTellsOfALiveConversationThatDoesNotEnd(t *testing.T) {
	lives, stuck := flow.NewLives(nil), make(chan struct{})
	b := bot.New().Flow(flow.NewLive("sum", func(c *flow.Live) error {
		_, err := flow.Wait(c, ask.Text(), "Well?")
		<-stuck
		_, again := flow.Wait(c, ask.Text(), "Well?")
		return errors.Join(err, again, c.SendNow(botmesh.Send{Text: "late"}))
	}, flow.Trigger("/sum")))
	if _, err := begun(t.Context(), b, lives, "1"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if err := lives.Close(ctx); err != why {
		t.Errorf("got error %v, want %v", err, why)
	}
	close(stuck)
	if err := lives.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestACrashAtTheEndIsTold(t *testing.T) {
	told := make(chan string, 1)
	lives := flow.NewLives(func(chat botmesh.ChatKey, c *flow.Crash) { told <- fmt.Sprint(chat, " ", c.Value) })
	b := bot.New().Flow(flow.NewLive("sum", func(c *flow.Live) error {
		if _, err := flow.Wait(c, ask.Text(), "Well?"); err != nil {
			panic("at the end")
		}
		return nil
	}, flow.Trigger("/sum")))
	if _, err := begun(t.Context(), b, lives, "1"); err != nil {
		t.Fatal(err)
	}
	if err := lives.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-told; got != "test/1 at the end" {
		t.Errorf("got %q, want the chat and what it panicked with", got)
	}
}

func TestLiveConversationsThatAreWrong(t *testing.T) {
	run := func(c *flow.Live) error { return nil }
	for name, d := range map[string]flow.Definition{
		"name":     flow.NewLive("No Name", run),
		"function": flow.NewLive("a", nil),
		"patience": flow.NewLive("a", run, flow.Patience(0)),
		"day":      flow.NewLive("a", run, flow.Patience(25*time.Hour)),
		"back":     flow.NewLive("a", run, flow.Back(2)),
		"kept":     flow.NewLive("a", run, flow.Ephemeral(time.Minute)),
		"timeout":  flow.NewLive("a", run, flow.Timeout(time.Minute, flow.Step[struct{}]("b"))),
		"policy":   flow.NewLive("a", run, flow.Meanwhile(flow.Interrupt)),
		"burst":    flow.NewLive("a", run, flow.Burst(time.Hour)),
		"settle":   flow.NewLive("a", run, flow.Settle(-1)),
		"no live":  flow.New[struct{}]("a", flow.Patience(time.Minute)),
	} {
		if d.Validate() == nil {
			t.Errorf("%s: got no error, want one", name)
		}
	}
	if err := flow.NewLive("a", run).Validate(); err != nil {
		t.Error(err)
	}
	err := error(nil)
	b := bot.New().Flow(flow.NewLive("sum", func(c *flow.Live) error {
		_, err = flow.Wait(c, ask.Int().Range(2, 1), "How many?")
		return err
	}, flow.Trigger("/sum")))
	if _, failed := begun(t.Context(), b, nil, "1"); failed == nil || err == nil {
		t.Errorf("a question that can not be asked: got errors %v and %v, want both", err, failed)
	}
}

// BenchmarkLive begins a live conversation and goes on with it once. It reports what one
// takes up while it waits, its stack too.
func BenchmarkLive(b *testing.B) {
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	before, lives, bt := used(), flow.NewLives(nil), sums(nil)
	const waiting = 5000
	for i := range waiting {
		if _, err := begun(b.Context(), bt, lives, fmt.Sprint("waits", i)); err != nil {
			b.Fatal(err)
		}
	}
	size := float64(used()-before) / waiting
	b.ResetTimer()
	for i := range b.N {
		chat := fmt.Sprint(i % 1000)
		o, err := begun(b.Context(), bt, lives, chat)
		if err != nil {
			b.Fatal(err)
		}
		r := botmesh.Record{Type: botmesh.TypeMessage, Chat: botmesh.ChatKey{Provider: "test", Chat: chat}, Message: botmesh.Message{Text: "2"}}
		if _, err := bt.TurnIn(b.Context(), lives, botmesh.Run{Now: time.Now(), Record: r, State: o.State}, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(size, "B/conversation")
	if err := lives.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// A copy that nobody comes back to ends, a minute after its patience.
func TestALiveConversationThatNobodyComesBackTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		lives := flow.NewLives(nil)
		if _, err := begun(t.Context(), sums(ended, flow.Patience(10*time.Minute)), lives, "1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10*time.Minute + 59*time.Second)
		if lives.Len() != 1 {
			t.Error("it ended before its time")
		}
		time.Sleep(2 * time.Second)
		if err := <-ended; err != flow.ErrOver || lives.Len() != 0 {
			t.Errorf("got error %v and %d that wait, want ErrOver and none", err, lives.Len())
		}
	})
}
