package replay_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/internal/replay"
)

// clock is a bot that arms its one alarm with "set", takes it back with "stop" and says
// what goes off.
type clock struct{}

func (clock) Run(_ context.Context, r botmesh.Run, _ botmesh.Midway) (botmesh.Outcome, error) {
	switch {
	case r.Record.Type == botmesh.TypeTimer:
		return botmesh.Outcome{Sends: []botmesh.Send{{Text: "ring " + string(r.Timer.Data)}}}, nil
	case r.Record.Message.Text == "stop":
		return botmesh.Outcome{Disarm: []string{"alarm"}}, nil
	case r.Record.Message.Text == "set":
		return botmesh.Outcome{Arm: []botmesh.Timer{{Name: "alarm", At: r.Now.Add(time.Hour), Data: []byte(r.Record.ID)}}}, nil
	}
	return botmesh.Outcome{}, nil
}

// A timer counts while it is armed, under the id that a worker gave it; the end of a pause
// gives it the time it had left; what an operator passed over has no effect.
//
// SPEC: J7
func TestTimersFollowTheRulesOfAWorker(t *testing.T) {
	t.Parallel()
	chat := replay.New(replay.Config{
		Runner: clock{}, Tries: 1, Settle: time.Second, PassesOver: func(r botmesh.Record) bool { return r.Seq == 6 },
	})
	fires := func(seq uint64, timer string) (result replay.Result, said string) {
		t.Helper()
		e := entry(seq, botmesh.TypeTimer, timer, "")
		e.Record.Timer = timer
		step, err := chat.Next(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range step.Sends {
			said += s.Text
		}
		return step.Result, said
	}
	for seq, text := range []string{"set", "set", "stop", "set"} { // the second in place of the first
		if _, err := chat.Next(t.Context(), entry(uint64(seq+1), botmesh.TypeMessage, string(rune('a'+seq)), text)); err != nil {
			t.Fatal(err)
		}
	}
	if got, said := fires(5, "e-2-t0"); got != replay.Ignored || said != "" {
		t.Errorf("a timer that was taken back: got %s %q, want it ignored", got, said)
	}
	if got, said := fires(6, "e-4-t0"); got != replay.Ignored || said != "" {
		t.Errorf("a timer that is passed over: got %s %q, want it ignored", got, said)
	}
	resume := entry(7, botmesh.TypeCommand, "r", "")
	resume.Record.Resume = &botmesh.Resume{Paused: stored.Add(time.Minute), Resumed: stored.Add(3 * time.Hour)}
	if _, err := chat.Next(t.Context(), resume); err != nil {
		t.Fatal(err)
	}
	want := []checkpoint.Armed{{ID: "e-4-t0", Timer: botmesh.Timer{Name: "alarm", At: stored.Add(3*time.Hour + 59*time.Minute), Data: []byte("d")}}}
	if diff := cmp.Diff(want, chat.Checkpoint().Timers); diff != "" {
		t.Errorf("timers after the pause (-want +got):\n%s", diff)
	}
	if got, said := fires(8, "e-4-t0"); got != replay.Applied || said != "ring d" {
		t.Errorf("the armed timer: got %s %q, want it to ring", got, said)
	}
	if got := chat.Checkpoint().Timers; len(got) != 0 {
		t.Errorf("got %v armed, want none", got)
	}
}
