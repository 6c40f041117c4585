package dispatcher_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/dispatcher"
	"github.com/botmesh-go/botmesh/provider"
)

// SPEC: J4 T1 O4. Many chats, many messages, three replicas.
func TestEveryMessageIsAnsweredOnceAndInOrder(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		for range 3 {
			w.start()
		}
		const chats, messages = 20, 25
		for range messages {
			for c := range chats {
				w.post(fmt.Sprint("c", c), "hi")
			}
		}
		w.settled(10 * time.Minute)
		for c := range chats {
			w.judge(fmt.Sprint("c", c), messages, false)
		}
	})
}

// SPEC: J2. The duplicate window is long over; the chat's recent ids catch it.
func TestALateDuplicateHasNoEffect(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.start()
		id := w.post("a", "one")
		w.settled(time.Minute)
		time.Sleep(time.Hour) // virtual
		w.postID("a", "one", id)
		w.post("a", "two")
		w.settled(time.Minute)
		w.judge("a", 2, false)
	})
}

// SPEC: J8. DESIGN: N5. HOLE: H14 H15.
func TestARecordThatFailsIsTriedAgainInPlaceAndThenSetAside(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		var tries list[time.Time]
		w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			if r.Record.Message.Text != "poison" {
				return o, nil
			}
			n := tries.add(r.Now)
			if r.Try != n {
				t.Errorf("try %d is told as try %d", n, r.Try)
			}
			return botmesh.Outcome{}, errNo
		}
		w.start()
		w.start()
		w.post("a", "one")
		w.post("a", "poison")
		w.post("a", "two")
		w.post("b", "one")
		w.settled(5 * time.Minute)
		w.judge("a", 2, false)
		w.judge("b", 1, false)
		at := tries.all()
		if len(at) != 5 {
			t.Fatalf("got %d tries, want 5", len(at))
		}
		if took := at[4].Sub(at[0]).Round(time.Second); took != 30*time.Second {
			t.Errorf("got %s from the first to the last try, want 30s", took)
		}
		dead := w.dead()
		if len(dead) != 1 {
			t.Fatalf("got %v, want one dead letter", dead)
		}
		if dead[0].Error != "no" || dead[0].Tries != 5 {
			t.Errorf("got %+v, want error no after 5 tries", dead[0])
		}
	})
}

// DESIGN: N5. HOLE: H15. The pause between tries is in the checkpoint: a replica
// that takes over waits for what is left of it.
func TestAnotherReplicaKeepsThePauseBetweenTries(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		var tries list[time.Time]
		w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			tries.add(r.Now)
			if r.Try < 4 {
				return botmesh.Outcome{}, errNo
			}
			return o, nil
		}
		a := w.start()
		w.post("a", "x")
		w.waitFor(func() bool { return len(tries.all()) == 3 }) // the next pause is 8s
		time.Sleep(time.Second)
		a.drain()
		w.start()
		w.settled(time.Minute)
		w.judge("a", 1, false)
		at := tries.all()
		if len(at) != 4 {
			t.Fatalf("got %d tries, want 4: draining spends none", len(at))
		}
		if pause := at[3].Sub(at[2]); pause < 8*time.Second || pause > 9*time.Second {
			t.Errorf("got a pause of %s, want 8s", pause)
		}
	})
}

// SPEC: T4. A run that ignores its context is left behind: what it does later has
// no effect, though the same replica goes on with the chat.
func TestARunThatTakesTooLongIsCutAndLeavesNothing(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		late := make(chan error, 2)
		w.bot.on = func(ctx context.Context, r botmesh.Run, m botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			if r.Record.Message.Text == "slow" && r.Try == 1 {
				time.Sleep(5 * time.Minute) // and does not look at ctx
				late <- m.Keep(context.Background(), []byte("late"))
				late <- m.SendNow(context.Background(), botmesh.Send{Text: "late"})
				return botmesh.Outcome{State: []byte("99"), Sends: []botmesh.Send{{Text: "late"}}}, nil
			}
			return o, nil
		}
		w.start()
		w.post("a", "slow")
		w.post("a", "two")
		w.settled(3 * time.Minute)
		w.judge("a", 2, false)
		for range 2 {
			if err := <-late; !strings.Contains(fmt.Sprint(err), "lease lost") {
				t.Errorf("got %v from a run that was cut, want lease lost", err)
			}
		}
		w.judge("a", 2, false)
	})
}

// SPEC: H10 O1. DESIGN: C7. HOLE: H9.
func TestEagerSendsAreSentOnceWhateverARunAgainSays(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.bot.on = func(ctx context.Context, r botmesh.Run, m botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			for i := range 2 {
				if err := m.SendNow(ctx, botmesh.Send{Text: fmt.Sprintf("wait %d, try %d", i, r.Try)}); err != nil {
					return o, err
				}
				if r.Try == 1 {
					return o, errNo
				}
			}
			return o, nil
		}
		w.start()
		w.post("a", "x")
		w.settled(time.Minute)
		want := []string{"wait 0, try 1", "wait 1, try 2", "count: 1"}
		if diff := cmp.Diff(want, w.platform.texts("a")); diff != "" {
			t.Errorf("texts (-want +got):\n%s", diff)
		}
	})
}

// SPEC: J5 H13. DESIGN: C2. HOLE: H4. What a run kept is there for the next try, on
// another replica too, and acknowledges nothing.
func TestWhatARunKeptSurvivesTheReplica(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		var a *replica
		var kept list[string]
		w.bot.on = func(ctx context.Context, r botmesh.Run, m botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			if kept.add(string(r.Kept)) == 1 {
				if err := m.Keep(ctx, []byte("pizza")); err != nil {
					return o, err
				}
				a.gate.kill()
				<-ctx.Done()
				return o, ctx.Err()
			}
			return o, nil
		}
		a = w.start()
		w.post("a", "x")
		w.waitFor(a.gate.isDead)
		w.start()
		w.settled(2 * time.Minute)
		w.judge("a", 1, false)
		if diff := cmp.Diff([]string{"", "pizza"}, kept.all()); diff != "" {
			t.Errorf("kept (-want +got):\n%s", diff)
		}
	})
}

// DESIGN: N6. HOLE: H8. A death is counted in the checkpoint; waiting is none.
func TestADeathDuringATurnIsCounted(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		var a *replica
		var runs atomic.Int64
		w.bot.on = func(ctx context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			if runs.Add(1) == 1 {
				a.gate.kill()
				<-ctx.Done()
				return o, ctx.Err()
			}
			cp := w.checkpoint("a")
			if cp.Tries == nil || cp.Tries.Deaths != 1 || cp.Claim == nil {
				t.Errorf("got %+v, claim %+v, want one death and a claim", cp.Tries, cp.Claim)
			}
			if r.Try != 1 {
				t.Errorf("got try %d, want 1: a death is no failed try", r.Try)
			}
			return o, nil
		}
		a = w.start()
		w.post("a", "x")
		w.waitFor(a.gate.isDead)
		w.start()
		w.settled(2 * time.Minute)
		w.judge("a", 1, false)
		if cp := w.checkpoint("a"); cp.Tries != nil || cp.Claim != nil {
			t.Errorf("got %+v %+v after the commit, want neither", cp.Tries, cp.Claim)
		}
	})
}

func (w *world) checkpoint(chat string) checkpoint.Checkpoint {
	w.t.Helper()
	m, err := w.stream("CP").Last(w.t.Context(), "$KV.BOT_demo_CP."+key(chat).Key())
	if err != nil {
		w.t.Fatal(err)
	}
	cp, err := checkpoint.Decode(m.Data)
	if err != nil {
		w.t.Fatal(err)
	}
	return cp
}

// SPEC: T9 C2 C6. The coordinator forgets everything again and again: two replicas hold a chat at once,
// one compare-and-set wins, nothing is doubled.
func TestNothingIsDoubledWhenTheCoordinatorForgets(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.bot.on = func(_ context.Context, _ botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			time.Sleep(70 * time.Millisecond)
			return o, nil
		}
		for range 3 {
			w.start()
		}
		const chats, messages = 5, 30
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 100 {
				time.Sleep(300 * time.Millisecond)
				w.hub.Forget()
			}
		}()
		for range messages {
			for c := range chats {
				w.post(fmt.Sprint("c", c), "hi")
			}
			time.Sleep(100 * time.Millisecond)
		}
		w.settled(20 * time.Minute)
		<-done
		for c := range chats {
			w.judge(fmt.Sprint("c", c), messages, false)
		}
	})
}

// SPEC: W3. HOLE: H8. A drain ends the run in hand and hands the rest over at once.
func TestADrainHandsOverAtOnceAndSpendsNoTry(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			time.Sleep(2 * time.Second)
			if r.Try != 1 {
				t.Errorf("got try %d, want 1", r.Try)
			}
			return o, nil
		}
		a := w.start()
		for range 5 {
			w.post("a", "x")
		}
		w.waitFor(func() bool { return len(w.platform.texts("a")) == 1 })
		b := w.start()
		began := time.Now()
		a.drain()
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("the drain took %s, want at most the run in hand", took)
		}
		w.settled(time.Minute)
		if took := time.Since(began); took > 12*time.Second {
			t.Errorf("five runs of 2s were over after %s, want no pause between the replicas", took)
		}
		_ = b
		w.judge("a", 5, false)
	})
}

// HOLE: H13. A letter over the bound is a handler's failure, not a chat that hangs.
func TestALetterThatIsTooLargeIsAFailedTry(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			if r.Record.Message.Text == "large" {
				o.Sends = []botmesh.Send{{Text: strings.Repeat("x", 300<<10)}}
			}
			return o, nil
		}
		w.start()
		w.post("a", "large")
		w.post("a", "one")
		w.settled(2 * time.Minute)
		w.judge("a", 1, false)
		if w.platform.cut >= 300<<10 {
			t.Errorf("a text of %d bytes was cut, want it refused before", w.platform.cut)
		}
	})
}

// A platform that is down for one chat holds up no other, and that chat's
// records run on; it is told everything in order when it is back.
//
// SPEC: O4 O5. HOLE: H7.
func TestAPlatformThatIsDownHoldsUpNoOtherChat(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		back := time.Now().Add(10 * time.Minute)
		w.platform.rule = func(chat, _ string, _ int) error {
			if chat == "a" && time.Now().Before(back) {
				return provider.Retry(errNo, 0)
			}
			return nil
		}
		w.start()
		w.start()
		for range 5 {
			w.post("a", "x")
			w.post("b", "x")
		}
		w.waitFor(func() bool { return len(w.platform.texts("b")) == 5 })
		if time.Now().After(back.Add(-9 * time.Minute)) {
			t.Error("chat b waited for chat a")
		}
		w.settled(time.Hour)
		w.judge("a", 5, false)
		w.judge("b", 5, false)
	})
}

// DESIGN: C10. SPEC: T15. A chat without a conversation is forgotten when nothing
// can refer to it any more.
func TestACheckpointWithoutAConversationExpires(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.bot.on = func(_ context.Context, r botmesh.Run, _ botmesh.Midway, o botmesh.Outcome) (botmesh.Outcome, error) {
			if r.Record.Message.Text == "stateless" {
				o.State = nil
			}
			return o, nil
		}
		r := w.start()
		w.post("a", "stateless")
		w.post("b", "x")
		w.settled(time.Minute)
		r.drain()
		time.Sleep(17 * 24 * time.Hour)
		for chat, want := range map[string]bool{"a": false, "b": true} {
			row, err := natsRow(t, w, chat)
			if err != nil || (row.Revision != 0) != want {
				t.Errorf("chat %s: got %+v, %v, want kept %v", chat, row, err, want)
			}
		}
	})
}

func (w *world) checkpointed(chat string) bool {
	_, err := w.stream("CP").Last(w.t.Context(), "$KV.BOT_demo_CP."+key(chat).Key())
	return err == nil
}

func natsRow(t *testing.T, w *world, chat string) (checkpoint.Row, error) {
	return w.replicas[0].store.Load(t.Context(), key(chat).Key())
}

// HOLE: H6. The journal is made anew: the chat goes on, though its cursor was higher.
func TestARecreatedJournalIsNoticed(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		r := w.start()
		for range 5 {
			w.post("a", "x")
		}
		w.settled(time.Minute)
		r.drain()
		cp := w.checkpoint("a")
		cp.Epoch, cp.Cursor = "e0", 9000 // as if it had been written under the journal before
		value, err := cp.Encode()
		if err != nil {
			t.Fatal(err)
		}
		row, err := natsRow(t, w, "a")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.store.Swap(t.Context(), key("a").Key(), row, value, "operator", 0); err != nil {
			t.Fatal(err)
		}
		w.start()
		w.post("a", "six")
		w.settled(time.Minute)
		got := w.platform.texts("a")
		// The five old records are still in this journal, so the chat's recent ids tell them apart.
		if len(got) != 6 || got[5] != "count: 6" {
			t.Errorf("got %v, want six answers", got)
		}
	})
}

// A checkpoint of a newer format or deploy is left alone.
//
// DESIGN: N8. HOLE: H16.
func TestACheckpointOfANewerBuildIsLeftAlone(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		newer := w.start(func(c *dispatcher.Config) { c.Deploy = 2 })
		w.post("a", "x")
		w.settled(time.Minute)
		newer.drain()
		older := w.start(func(c *dispatcher.Config) { c.Deploy = 1 })
		w.post("a", "x")
		time.Sleep(5 * time.Minute)
		w.judge("a", 1, false)
		older.drain()
		w.start(func(c *dispatcher.Config) { c.Deploy = 2 })
		w.settled(time.Minute)
		w.judge("a", 2, false)
	})
}

// DESIGN: C5. The journal is deleted while a letter waits for the platform: no
// nudge is left, so the replicas look for such chats themselves.
func TestARecreatedJournalStrandsNoLetter(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.platform.rule = func(string, string, int) error { return provider.Retry(errNo, time.Minute) }
		a := w.start()
		w.post("a", "x")
		w.waitFor(func() bool { return len(a.d.Status().Lanes) == 0 && w.checkpointed("a") })
		a.drain()
		w.recreate("e2")
		w.platform.mu.Lock()
		w.platform.rule = nil
		w.platform.mu.Unlock()
		w.start()
		w.waitFor(func() bool { return len(w.platform.texts("a")) == 1 })
		w.settled(10 * time.Minute)
	})
}
