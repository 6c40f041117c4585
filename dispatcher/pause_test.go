package dispatcher_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/journal"
)

// operator is who pauses chats of a world.
type operator struct {
	w      *world
	pauses *acts.Pauses
}

// pausing gives a world an operator, and a bot that repeats what is said; "fails" fails
// each time.
func pausing(w *world) *operator {
	w.t.Helper()
	w.pausing = true
	w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
		o.Sends = []botmesh.Send{{Text: r.Record.Message.Text}}
		switch {
		case r.Record.Resume != nil && r.Record.Resume.Ask:
			o.Sends = []botmesh.Send{{Text: "asked again"}}
		case r.Record.Resume != nil:
			return botmesh.Outcome{Ignored: true}, nil
		case r.Record.Message.Text == "fails":
			return o, errors.New("it fails")
		}
		return o, nil
	}
	p, err := acts.OpenPauses(w.t.Context(), acts.PausesConfig{Config: acts.Config{Stream: w.stream("ACTS"), Bot: "demo"}})
	if err != nil {
		w.t.Fatal(err)
	}
	return &operator{w, p}
}

// pause pauses a chat, and waits until all replicas know.
func (o *operator) pause(chat string, scope acts.Scope) acts.Pause {
	o.w.t.Helper()
	p, err := o.pauses.Get(o.w.t.Context(), key(chat))
	if err != nil {
		o.w.t.Fatal(err)
	}
	p.ID, p.Chat, p.On, p.Scope, p.Since = time.Now().String(), key(chat), true, scope, time.Now()
	if p, err = o.pauses.Set(o.w.t.Context(), p); err != nil {
		o.w.t.Fatal(err)
	}
	time.Sleep(2 * time.Second) // virtual
	return p
}

// resume ends a pause as the admin room does. keep is the message to answer, counted
// from the journal's end.
func (o *operator) resume(p acts.Pause, ask bool, keep uint64) {
	o.w.t.Helper()
	o.tell(o.lift(p, keep), ask)
}

// lift ends a pause, and tells nobody.
func (o *operator) lift(p acts.Pause, keep uint64) acts.Pause {
	o.w.t.Helper()
	j, err := journal.Open(o.w.t.Context(), journal.Config{Bot: "demo", Inbox: o.w.stream("INBOX"), Dead: o.w.stream("DEAD")})
	if err != nil {
		o.w.t.Fatal(err)
	}
	end, err := j.End(o.w.t.Context())
	if err != nil {
		o.w.t.Fatal(err)
	}
	p.On, p.Epoch, p.Through, p.Resumed = false, j.Epoch(), end, time.Now()
	if keep > 0 {
		p.Keep = end + 1 - keep
	}
	if p.Scope == acts.Delivery {
		p.Through = 0
	}
	if _, err := o.pauses.Set(o.w.t.Context(), p); err != nil {
		o.w.t.Fatal(err)
	}
	return p
}

// tell journals the end of a pause.
func (o *operator) tell(p acts.Pause, ask bool) {
	o.w.t.Helper()
	j, err := journal.Open(o.w.t.Context(), journal.Config{Bot: "demo", Inbox: o.w.stream("INBOX"), Dead: o.w.stream("DEAD")})
	if err != nil {
		o.w.t.Fatal(err)
	}
	r := botmesh.Record{Type: botmesh.TypeEvent, ID: "release:" + p.ID, Chat: p.Chat}
	if p.Scope != acts.Delivery {
		r.Type, r.Resume = botmesh.TypeCommand, &botmesh.Resume{Paused: p.Since, Resumed: p.Resumed, Ask: ask}
	}
	if _, err := j.Publish(o.w.t.Context(), r); err != nil {
		o.w.t.Fatal(err)
	}
}

func (o *operator) expect(when, chat string, want ...string) {
	o.w.t.Helper()
	if diff := cmp.Diff(want, o.w.platform.texts(chat)); diff != "" {
		o.w.t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

// A paused chat is not run, whoever starts and stops meanwhile, and other chats are
// served. When it is resumed what came is passed over, and what comes next is answered at once.
//
// DESIGN: N9. HOLE: H23.
func TestAPausedChatWaitsThroughRestarts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		ask  bool
		keep uint64
		want []string
	}{
		{"skip", false, 0, []string{"1", "4"}},
		{"ask again", true, 0, []string{"1", "asked again", "4"}},
		{"answer last", false, 1, []string{"1", "3", "4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			play(t, func(w *world) {
				o := pausing(w)
				a := w.start()
				w.post("a", "1")
				w.settled(time.Minute)
				p := o.pause("a", acts.All)
				ran, fence := w.bot.ran(), a.fence("a")
				w.post("b", "other")
				w.post("a", "2")
				w.post("a", "3")
				time.Sleep(time.Hour)
				a.drain()
				b := w.start()
				time.Sleep(time.Hour)
				o.expect("paused", "a", "1")
				if got := b.fence("a"); got != fence {
					t.Errorf("got %d turns of a paused chat, want none", got-fence)
				}
				o.expect("another chat", "b", "other")
				if got := w.bot.ran() - ran; got != 1 {
					t.Errorf("got %d runs while paused, want that of the other chat", got)
				}
				o.resume(p, c.ask, c.keep)
				w.post("a", "4")
				time.Sleep(time.Second)
				o.expect("resumed", "a", c.want...)
				w.settled(5 * time.Minute)
			})
		})
	}
}

// A pause that comes while a record waits to be tried again, or while its answer waits
// to be sent, holds both.
//
// DESIGN: N9 D5.
func TestAPauseHoldsTriesAndSends(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		o := pausing(w)
		w.start()
		w.post("a", "fails")
		time.Sleep(time.Second)
		p := o.pause("a", acts.All)
		ran := w.bot.ran()
		time.Sleep(time.Hour)
		if got := w.bot.ran(); got != ran {
			t.Errorf("got %d more runs of a paused chat, want none", got-ran)
		}
		o.resume(p, false, 0)
		w.settled(5 * time.Minute)
		if got := w.dead(); len(got) != 0 {
			t.Errorf("got %+v set aside, want a record that is passed over", got)
		}

		w.rule(func(_, _ string, _ int) error { return errors.New("not now") })
		w.post("b", "late")
		time.Sleep(500 * time.Millisecond)
		for _, scope := range []acts.Scope{acts.All, acts.Delivery} {
			p := o.pause("b", scope)
			w.rule(nil)
			before := w.calls()
			time.Sleep(time.Hour)
			if calls := w.calls() - before; calls != 0 {
				t.Errorf("%s: got %d calls, want none", scope, calls)
			}
			if scope == acts.Delivery {
				ran := w.bot.ran()
				w.post("b", "answered, not sent")
				time.Sleep(2 * time.Minute)
				if got, calls := w.bot.ran()-ran, w.calls()-before; got != 1 || calls != 0 {
					t.Errorf("got %d runs and %d calls, want one run and no call", got, calls)
				}
				o.resume(p, false, 0)
				time.Sleep(time.Second)
				continue
			}
			// Paused again before its worker came to send: still nothing goes out.
			p.On = false
			if _, err := o.pauses.Set(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		o.expect("released", "b", "late", "answered, not sent")
		w.settled(5 * time.Minute)
	})
}

// The timers of a paused chat stand still: each fires once, when the time that it had
// left when the chat was paused has passed since it was resumed.
//
// SPEC: H12. DESIGN: N9 N7.
func TestAPauseFreezesTimers(t *testing.T) {
	t.Parallel()
	for name, ignored := range map[string]bool{"the bot says something": false, "the bot makes nothing of it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			freezesTimers(t, ignored)
		})
	}
}

// freezesTimers pauses and resumes a chat with timers. ignored says what the bot makes
// of the record that resumes it.
func freezesTimers(t *testing.T, ignored bool) {
	play(t, func(w *world) {
		o := pausing(w)
		fired := reminding(w)
		repeat := w.bot.on
		w.bot.on = func(ctx context.Context, r botmesh.Run, m botmesh.Midway, out botmesh.Outcome) (botmesh.Outcome, error) {
			if r.Record.Resume != nil {
				if ignored {
					return botmesh.Outcome{Ignored: true}, nil
				}
				return botmesh.Outcome{State: r.State, Sends: []botmesh.Send{{Text: "where were we?"}}}, nil
			}
			return repeat(ctx, r, m, out)
		}
		w.start()
		w.post("a", "arm tea 10m")
		w.post("a", "arm egg 20m")
		w.settled(time.Minute)
		begun := time.Now()
		time.Sleep(4*time.Minute - time.Since(begun))
		p := o.pause("a", acts.All)
		left := 10*time.Minute - p.Since.Sub(begun)
		time.Sleep(11 * time.Minute) // tea is due meanwhile
		o.resume(p, false, 0)
		resumed := time.Now()
		time.Sleep(left - 10*time.Second)
		if got := fired.all(); len(got) != 0 {
			t.Errorf("got %q fired before the time that was left, want none", got)
		}
		time.Sleep(20 * time.Second)
		if diff := cmp.Diff([]string{"tea 10m"}, fired.all()); diff != "" {
			t.Errorf("%v after it was resumed, fired (-want +got):\n%s", time.Since(resumed), diff)
		}
		time.Sleep(10 * time.Minute)
		if diff := cmp.Diff([]string{"tea 10m", "egg 20m"}, fired.all()); diff != "" {
			t.Errorf("fired (-want +got):\n%s", diff)
		}
		if cp := w.checkpoint("a"); len(cp.Timers) > 0 {
			t.Errorf("got %+v armed after all fired", cp.Timers)
		}
		w.settled(5 * time.Minute)
	})
}

// A timer that a run armed which was under way when its chat was paused stands still from
// then on, and one that is armed once the chat is resumed does not at all.
//
// SPEC: H12. DESIGN: N9.
func TestAPauseFreezesNoTimeBeforeATimerWasSet(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		o := pausing(w)
		fired := reminding(w)
		remind := w.bot.on
		w.bot.on = func(ctx context.Context, r botmesh.Run, m botmesh.Midway, out botmesh.Outcome) (botmesh.Outcome, error) {
			switch {
			case r.Record.Resume != nil:
				return botmesh.Outcome{Ignored: true}, nil
			case r.Record.Message.Text == "arm tea 10m":
				time.Sleep(50 * time.Second)
				r.Now = time.Now()
			}
			return remind(ctx, r, m, out)
		}
		w.start()
		w.post("a", "arm tea 10m")
		time.Sleep(time.Second)
		p := o.pause("a", acts.All)
		time.Sleep(time.Hour)
		p = o.lift(p, 0)
		resumed := time.Now()
		w.post("a", "arm egg 20m") // it is run before the record that resumes the chat
		w.waitFor(func() bool { return len(w.checkpoint("a").Timers) == 2 })
		o.tell(p, false)
		for _, c := range []struct {
			after time.Duration
			fired int
		}{{10*time.Minute - 5*time.Second, 0}, {10*time.Minute + 5*time.Second, 1}, {20*time.Minute - 5*time.Second, 1}, {20*time.Minute + 5*time.Second, 2}} {
			time.Sleep(c.after - time.Since(resumed))
			if got := fired.all(); len(got) != c.fired {
				t.Errorf("%v after it was resumed: got %q fired, want %d", c.after, got, c.fired)
			}
		}
		w.settled(5 * time.Minute)
	})
}

// A run that is under way when its chat is paused takes in nothing that comes then, nor
// what is passed over once the chat is resumed.
//
// DESIGN: N9.
func TestARunUnderWayTakesInNothingOfAPause(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		o := pausing(w)
		var runs list[string]
		yielding(w, &runs)
		yield := w.bot.on
		w.bot.on = func(ctx context.Context, r botmesh.Run, m botmesh.Midway, out botmesh.Outcome) (botmesh.Outcome, error) {
			if r.Record.Resume != nil {
				return botmesh.Outcome{Ignored: true}, nil
			}
			return yield(ctx, r, m, out)
		}
		w.start()
		w.post("a", "one") // takes half a minute
		time.Sleep(time.Second)
		p := o.pause("a", acts.All)
		w.post("a", "two")
		time.Sleep(10 * time.Second)
		o.resume(p, false, 0)
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"[one] 1"}, runs.all()); diff != "" {
			t.Errorf("runs (-want +got):\n%s", diff)
		}
		w.post("a", "three")
		w.settled(2 * time.Minute)
		o.expect("after the next message", "a", "hm", "to [one]", "hm", "to [three]")
	})
}

// fence is that of the last turn of a chat.
func (r *replica) fence(chat string) uint64 {
	r.w.t.Helper()
	view, err := r.coord.Inspect(r.w.t.Context(), coord.KindTurn, key(chat).Key())
	if err != nil {
		r.w.t.Fatal(err)
	}
	return view.Fence
}

// rule changes what the platform does with calls.
func (w *world) rule(rule func(chat, text string, n int) error) {
	w.platform.mu.Lock()
	defer w.platform.mu.Unlock()
	w.platform.rule = rule
}

// calls counts the calls to the platform.
func (w *world) calls() int {
	w.platform.mu.Lock()
	defer w.platform.mu.Unlock()
	return w.platform.calls
}

// A record waits to be tried again while its chat is paused and resumed: who has the
// turn learns of it before the next try.
//
// DESIGN: N9.
func TestARecordThatWaitsForATryIsPassedOver(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		o := pausing(w)
		w.start()
		w.post("a", "fails")
		w.waitFor(func() bool { return w.bot.ran() == 4 }) // the next try is a while off
		p := o.pause("a", acts.All)
		o.resume(p, false, 0)
		w.settled(5 * time.Minute)
		if ran, dead := w.bot.ran(), w.dead(); ran != 5 || len(dead) != 0 { // the fifth run is that of the resume itself
			t.Errorf("got %d runs and %+v set aside, want no try after the pause", ran, dead)
		}
	})
}
