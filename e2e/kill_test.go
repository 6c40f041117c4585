package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/e2e/fleet"
)

// Every second the worker that holds a chat's turn is killed and started again.
// Some chats are in a long turn nearly all the time, so that the kill falls into
// one; a run in which too few did proves nothing and fails. Now and then an ingress
// is killed too.
//
// FAULT: 22 https://github.com/MervinPraison/PraisonAI/issues/2328
// SPEC: J1 J2 J5 J6 T1 T6 T9 O1 O2 O7 D4 DESIGN I1 I2 I4
func TestKilledWorkersLoseAndRepeatNothing(t *testing.T) { // alone: it loads the machine
	s := started(t, quick)
	const kills = 11
	ctx := s.within(2 * time.Minute)
	steady := load{chats: 64, messages: 50, pause: 250 * time.Millisecond}.begin(ctx, s)
	turns := newLongTurns(s, 6, 700*time.Millisecond)
	turns.start(ctx)

	inside := 0
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for n := range kills {
		<-tick.C
		if n%4 == 3 {
			r := s.Ingress[n/4%2]
			r.Child().Kill()
			if err := r.Launch(); err != nil {
				t.Fatal(err)
			}
		}
		victim, chats := turns.holder(ctx)
		if victim == nil {
			t.Fatal("got no worker in a turn for half a minute")
		}
		s.Kill(ctx, victim)
		if turns.interrupted(chats) {
			inside++
		}
		if err := victim.Launch(); err != nil {
			t.Fatal(err)
		}
	}
	told := turns.stop()
	want, err := steady.end()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d kills inside a turn", inside, kills)
	if inside < kills/2 {
		t.Errorf("got %d kills inside a turn of %d, want half", inside, kills)
	}
	maps.Copy(want, told)
	s.idle(20 * time.Second)
	s.judge(numbered(s.Calls()), want)
	s.eventually(10*time.Second, "a death was counted", func(context.Context) error {
		if s.sum(s.Workers, "bot_turn_deaths_total") == 0 {
			return fmt.Errorf("none")
		}
		return nil
	})
}

// SPEC: H2 H3 H8 J6 O7
func TestConversationGoesOnAfterItsWorkerIsKilledBetweenQuestions(t *testing.T) {
	t.Parallel()
	for chat, c := range []struct {
		answers []string
		end     string
	}{
		{[]string{"/order", "pizza", "2", "yes"}, "ordered: 2 x pizza"},
		{[]string{"/quiz", "4", "Lyon", "9"}, "score: 2/3"}, // one step: its answers come along
	} {
		t.Run(c.answers[0], func(t *testing.T) {
			t.Parallel()
			killedBetweenQuestions(t, int64(chat+1), c.answers, c.end)
		})
	}
}

func killedBetweenQuestions(t *testing.T, chat int64, answers []string, end string) {
	s := started(t, quick)
	var questions []string
	for i, text := range answers {
		s.say(chat, text)
		seen := len(questions)
		if err := s.Await(s.within(30*time.Second), chat, func(texts []string) bool {
			return len(distinct(texts)) > seen
		}); err != nil {
			t.Fatalf("after %q: %v", text, err)
		}
		questions = distinct(s.Texts(chat))
		if i < len(answers)-1 {
			victim := s.lastCaller(chat)
			s.Kill(t.Context(), victim)
			if err := victim.Launch(); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.verify(map[string][]string{strconv.FormatInt(chat, 10): questions})
	if got := questions[len(questions)-1]; got != end || len(questions) != 4 {
		t.Errorf("got %q, want three questions and %q", questions, end)
	}
}

func distinct(texts []string) []string {
	var out []string
	for _, text := range texts {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// lastCaller is the worker that last called the platform for a chat, running again
// if it was killed before.
func (s *scene) lastCaller(chat int64) *fleet.Replica {
	s.t.Helper()
	by := ""
	for _, c := range s.Calls() {
		if c.Chat == strconv.FormatInt(chat, 10) {
			by = c.By
		}
	}
	i := slices.IndexFunc(s.Workers, func(r *fleet.Replica) bool { return r.Process() == by })
	if i < 0 {
		s.t.Fatalf("no worker is %q", by)
	}
	return s.Workers[i]
}
