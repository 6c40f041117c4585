package dispatcher_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/dispatcher"
	"github.com/botmesh-go/botmesh/provider"
)

// Edit notes what a message is changed to, in the order of all calls.
func (c *caller) Edit(ctx context.Context, call provider.Call, messageID string) error {
	_, err := do(ctx, c.g, "edit", func() (struct{}, error) {
		c.mu.Lock()
		rule := c.rule
		c.mu.Unlock()
		if rule != nil {
			if err := rule(call.Chat.Chat, call.Send.Text, 0); err != nil {
				return struct{}{}, err
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.log = append(c.log, messageID+" = "+call.Send.Text)
		return struct{}{}, nil
	})
	return err
}

// Typing notes that the bot is shown to be at work.
func (c *caller) Typing(_ context.Context, _ botmesh.ChatKey, messageID string) (time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, "typing")
	return 5 * time.Second, nil
}

// growing is a run that sends a message at once, shows texts in it, one each pause, and
// ends with another.
func growing(pause time.Duration, texts ...string) func(context.Context, botmesh.Run, botmesh.Midway, botmesh.Outcome) (botmesh.Outcome, error) {
	return func(ctx context.Context, _ botmesh.Run, m botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
		if err := m.SendNow(ctx, botmesh.Send{Text: "…", Grows: true}); err != nil {
			return o, err
		}
		for _, text := range texts {
			m.(botmesh.Signs).Show(botmesh.Send{Text: text, Replaces: 1})
			time.Sleep(pause) // virtual
		}
		o.Sends = []botmesh.Send{{Text: "done", Replaces: 1}}
		return o, ctx.Err()
	}
}

// What a run shows in between comes between its first text and its last, however slow the
// platform is: the commit waits for the call that is under way. Of what comes faster than it
// can be shown the newest is.
//
// DESIGN: C7 I5
func TestWhatIsShownInBetweenComesInBetween(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		pause time.Duration
		slow  string // text that takes the platform four seconds
		want  []string
	}{
		{"seldom", 3 * time.Second, "", []string{"a: …", "1 = a", "1 = b", "1 = c", "1 = done"}},
		{"fast", 700 * time.Millisecond, "", []string{"a: …", "1 = b", "1 = c", "1 = done"}},
		{"at once", 0, "", []string{"a: …", "1 = done"}},
		{"slow", 1600 * time.Millisecond, "b", []string{"a: …", "1 = a", "1 = b", "1 = done"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			play(t, func(w *world) {
				w.bot.on = growing(c.pause, "a", "b", "c")
				w.platform.rule = func(_, text string, _ int) error {
					switch text {
					case "…":
						time.Sleep(100 * time.Millisecond) // virtual; before that nothing can be shown
					case c.slow:
						time.Sleep(4 * time.Second)
					}
					return nil
				}
				w.start()
				w.post("a", "x")
				w.settled(time.Minute)
				if got := w.platform.log; !slices.Equal(got, c.want) {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		})
	}
}

// A replica that dies while its message grows is followed by one that goes on with that
// message; a run that was cut shows nothing after that, whether or not it did before.
//
// SPEC: T4. DESIGN: C7 I5
func TestOfARunThatWasLeftNothingIsShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		leave func(a *replica)
		early bool
		want  []string
	}{
		{"its replica dies", func(a *replica) { a.gate.kill() }, true, []string{"a: …", "1 = old", "1 = new", "1 = done"}},
		{"it is cut", func(*replica) {}, true, []string{"a: …", "1 = old", "1 = new", "1 = done"}},
		{"it is cut before it shows anything", func(*replica) {}, false, []string{"a: …", "1 = new", "1 = done"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			play(t, func(w *world) {
				begun := make(chan struct{}, 9)
				w.bot.on = func(ctx context.Context, r botmesh.Run, m botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
					if w.bot.ran() > 1 {
						return growing(3*time.Second, "new")(ctx, r, m, o)
					}
					if err := m.SendNow(ctx, botmesh.Send{Text: "…", Grows: true}); err != nil {
						return o, err
					}
					signs := m.(botmesh.Signs)
					if c.early {
						signs.Show(botmesh.Send{Text: "old", Replaces: 1})
					}
					time.Sleep(3 * time.Second) // virtual
					begun <- struct{}{}
					<-ctx.Done()
					for range 60 { // it does not heed its end
						signs.Show(botmesh.Send{Text: "too late", Replaces: 1})
						signs.Typing()
						time.Sleep(time.Second)
					}
					return o, context.Cause(ctx)
				}
				a := w.start(func(c *dispatcher.Config) { c.Settle = 10 * time.Second })
				w.post("a", "x")
				<-begun
				c.leave(a)
				w.start()
				w.settled(2 * time.Minute)
				time.Sleep(2 * time.Minute) // until the run that was left has ended
				if got := w.platform.log; !slices.Equal(got, c.want) {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		})
	}
}

// That the bot is at work is shown for as long as the run lasts, and no longer.
func TestTypingIsShownWhileARunLasts(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.bot.on = func(_ context.Context, _ botmesh.Run, m botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			m.(botmesh.Signs).Typing()
			m.(botmesh.Signs).Typing()
			time.Sleep(9 * time.Second) // virtual
			return o, nil
		}
		w.start()
		w.post("a", "x")
		w.settled(time.Minute)
		time.Sleep(time.Minute)
		if got, want := w.platform.log, []string{"typing", "typing", "typing", "a: count: 1"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
