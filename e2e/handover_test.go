package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh/e2e/fleet"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

// said is a message of a user and what the bot says then, each if there is one.
type said struct{ user, bot string }

// handed is a chat that goes from the first worker to the second, and back.
type handed struct {
	row string // of the table in docs/conversations.md
	// first is what happens at the first worker, next at the second, and then again
	// at the first one.
	first, next, again []said
}

// waitingChats are those that a handler of theirs, if one runs, leaves alone meanwhile. It
// stands still at the first worker, in each of its tries.
var waitingChats = []handed{
	{
		row:   "first question",
		first: []said{{"/form", "Name?"}},
		next:  []said{{"Ana", "Age?"}},
		again: []said{{"old", "Please send a whole number.\nAge?"}, {"7", "Ana is 7"}},
	}, {
		row:   "later question",
		first: []said{{"/form", "Name?"}, {"Eva", "Age?"}},
		next:  []said{{"8", "Eva is 8"}},
		again: []said{{"/hello", "hello"}},
	}, {
		row:   "flow in a flow",
		first: []said{{"/visit", "Name?"}, {"Ida", "Age?"}},
		next:  []said{{"9", "Ida is 9"}, {"", "How long?"}},
		again: []said{{"3", "Ida stays for 3"}},
	}, {
		row:   "script",
		first: []said{{"/trip", "Where to?"}, {"Rome", "When?"}},
		next:  []said{{"tomorrow", "Rome tomorrow: booked by worker1"}},
		again: []said{{"/hello", "hello"}},
	}, {
		row:   "handler",
		first: []said{{"/work worker1", "working"}},
		next:  []said{{"", "begun by worker1, ended by worker2"}},
		again: []said{{"/hello", "hello"}},
	}, {
		row:   "step with its answer",
		first: []said{{"/step", "Where to stand still?"}, {"worker1", "working"}},
		next:  []said{{"5", "How many?"}, {"", "5, begun by worker1"}},
		again: []said{{"/hello", "hello"}},
	}, {
		row:   growing,
		first: []said{{"/tell worker1", "…"}, {"", "told by worker1"}}, // which is shown, and not kept
		next:  []said{{"", "told by worker2"}},
		again: []said{{"/hello", "hello"}},
	},
}

// growing is a row of whose message the text is changed.
const growing = "message that grows"

// waitingFlows counts those of waitingChats in which a flow waits.
const waitingFlows = 5

// meanwhileChats are those whose handlers listen while they run.
var meanwhileChats = []handed{
	{
		row:   "interrupt",
		first: []said{{"/think 1", "thinking 1"}},
		next:  []said{{"this", "thought of this"}},
		again: []said{{"/think 2", "thinking 2"}, {"that", "thought of that"}},
	}, {
		row:   "join",
		first: []said{{"/gather", "gathering"}, {"a", ""}},
		next:  []said{{"b", "gathered a and b"}},
		again: []said{{"/hello", "hello"}},
	},
}

// Each conversation goes on at the second worker when the first one is lost, and at the
// first one again when that is back: nothing is asked twice, said twice, done twice or
// forgotten, and of a handler that goes on after its end nothing is seen.
//
// SPEC: H2 H3 H4 H5 H8 H9 H10 H11 H13 T3 T4 T7 C2, DESIGN C7
func TestHandOver(t *testing.T) {
	t.Parallel()
	killed := func(s *scene, w *fleet.Replica) { s.Kill(s.t.Context(), w) }
	all := slices.Concat(waitingChats, meanwhileChats)
	for _, c := range []struct {
		how   string
		lose  func(s *scene, w *fleet.Replica)
		env   map[string]string
		chats []handed
	}{
		{how: "killed", lose: killed, chats: all},
		{how: "stopped", lose: stopped, chats: all},
		{how: "frozen", lose: frozen, chats: all},
		{how: "settled", lose: settled, env: map[string]string{"BOTMESH_SETTLE": "2s"}, chats: waitingChats},
	} {
		t.Run(c.how, func(t *testing.T) {
			t.Parallel()
			s := talking(t, c.env)
			first, second := s.Workers[0], s.Workers[1]
			s.each(c.chats, func(h handed) []said { return h.first })
			if err := second.Start(s.within(20 * time.Second)); err != nil {
				t.Fatal(err)
			}
			c.lose(s, first)
			s.each(c.chats, func(h handed) []said { return h.next })
			// The user may have the answer before it is counted.
			s.eventually(20*time.Second, "flows counted as handed over", func(context.Context) error {
				if got := s.sum(s.Workers[1:], "bot_handovers_total", `outcome="resumed"`); got != waitingFlows {
					return fmt.Errorf("got %g, want %d", got, waitingFlows)
				}
				return nil
			})
			s.back(first)
			if code, err := second.Term(s.within(20 * time.Second)); code != 0 || err != nil {
				t.Fatalf("got exit code %d (%v), want 0", code, err)
			}
			s.each(c.chats, func(h handed) []said { return h.again })
			s.Workers = s.Workers[:1]
			s.verify(told(c.chats))
			s.oneMessage(c.chats)
		})
	}
}

// What becomes of a flow that is not kept the settings say, where the bot's code does not.
//
// SPEC: H6 H7
func TestTheSettingsDecideOfFlowsThatAreNotKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  map[string]string
		next string
	}{
		"not set":   {nil, "what is Ana?"},
		"forwarded": {map[string]string{"BOTMESH_HANDOVER_FLOWS": "forward"}, "Age?"},
		"told":      {map[string]string{"BOTMESH_HANDOVER_FALLBACK": "notify"}, "we were interrupted, please begin again"},
		"too late":  {map[string]string{"BOTMESH_HANDOVER_FLOWS": "forward", "BOTMESH_HANDOVER_TTL": "1s"}, "what is Ana?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := talking(t, c.env)
			chats := []handed{{first: []said{{"/game", "Name?"}}, next: []said{{"Ana", c.next}}}}
			s.each(chats, func(h handed) []said { return h.first })
			asked := time.Now()
			if err := s.Workers[1].Start(s.within(20 * time.Second)); err != nil {
				t.Fatal(err)
			}
			s.Kill(t.Context(), s.Workers[0])
			s.eventually(10*time.Second, "the second after the question is over", func(context.Context) error {
				if since := time.Since(asked); since < 1200*time.Millisecond {
					return fmt.Errorf("%v have passed", since)
				}
				return nil
			})
			s.each(chats, func(h handed) []said { return h.next })
			s.Workers = s.Workers[1:]
			s.verify(told(chats))
		})
	}
}

// oneMessage looks at the chat of the message that grew: it is one, changed and not
// followed by another.
func (s *scene) oneMessage(chats []handed) {
	s.t.Helper()
	chat := slices.IndexFunc(chats, func(h handed) bool { return h.row == growing }) + 1
	type message struct {
		Text string
		Was  []string
	}
	var got []message
	for _, m := range s.API().(*telegramtest.Server).Chat(strconv.Itoa(chat)) {
		got = append(got, message{m.Text, m.Was})
	}
	if diff := cmp.Diff([]message{{"told by worker2", []string{"…", "told by worker1"}}, {"hello", nil}}, got); diff != "" {
		s.t.Errorf("messages of the chat whose message grows (-want +got):\n%s", diff)
	}
}

// talking is a fleet of two workers with the bot of package talk, of which one runs.
func talking(t *testing.T, env map[string]string) *scene {
	t.Helper()
	all := map[string]string{"BOTMESH_LEASE": lease.String(), "BOTMESH_DRAIN": "1s"}
	for name, value := range env {
		all[name] = value
	}
	s := described(t, all, func(c *fleet.Config) { c.Programs.Worker, c.Workers = talker, 2 })
	both := s.Workers
	s.Workers = both[:1]
	if err := s.Start(s.within(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	s.Workers = both
	return s
}

// stopped asks a worker to end, which gives its runs no more than a second.
func stopped(s *scene, w *fleet.Replica) {
	if code, err := w.Term(s.within(20 * time.Second)); code != 0 || err != nil {
		s.t.Fatalf("got exit code %d (%v), want 0", code, err)
	}
}

// frozen freezes a worker, for as long as it takes the other one to answer.
func frozen(s *scene, w *fleet.Replica) { s.Freeze(s.t.Context(), w) }

// settled waits until the runs that stand still were cut, and stops the worker, in which
// they are tried again in vain.
func settled(s *scene, w *fleet.Replica) {
	s.eventually(30*time.Second, "runs are cut", func(ctx context.Context) error {
		m, err := w.Metrics(ctx)
		if cut := m.Sum("bot_lease_lost_total", `reason="settled"`); err == nil && cut < 3 {
			err = fmt.Errorf("%g of 3 are", cut)
		}
		return err
	})
	stopped(s, w)
}

// back has a worker go on, or start again if it is gone.
func (s *scene) back(w *fleet.Replica) {
	s.t.Helper()
	w.Child().Thaw()
	select {
	case <-w.Child().Exited():
		if err := w.Launch(); err != nil {
			s.t.Fatal(err)
		}
	default:
	}
	if err := w.AwaitReady(s.within(30 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
}

// each has a part of each conversation, all at once.
func (s *scene) each(chats []handed, part func(handed) []said) {
	s.t.Helper()
	errs := make([]error, len(chats))
	var wg sync.WaitGroup
	for i, h := range chats {
		wg.Go(func() { errs[i] = s.converse(int64(i+1), part(h)) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			s.t.Errorf("%s: %v", chats[i].row, err)
		}
	}
	if s.t.Failed() {
		s.t.FailNow()
	}
}

// converse is a part of one conversation, in which the bot says nothing twice.
func (s *scene) converse(chat int64, part []said) error {
	ctx, cancel := context.WithTimeoutCause(s.t.Context(), 40*time.Second, fmt.Errorf("not within 40s"))
	defer cancel()
	for _, x := range part {
		if x.user != "" {
			if err := s.Say(ctx, s.URLs(), chat, x.user); err != nil {
				return err
			}
		}
		if x.bot == "" {
			continue
		}
		if err := s.AwaitText(ctx, chat, x.bot); err != nil {
			return fmt.Errorf("after %q: %w", x.user, err)
		}
	}
	return nil
}

// told is what each chat is to be told, once and in this order.
func told(chats []handed) map[string][]string {
	want := map[string][]string{}
	for i, h := range chats {
		var texts []string
		for _, part := range [][]said{h.first, h.next, h.again} {
			for _, x := range part {
				if x.bot != "" {
					texts = append(texts, x.bot)
				}
			}
		}
		want[strconv.Itoa(i+1)] = texts
	}
	return want
}

// Handlers listen at one worker while what is said meanwhile comes to any of them: what
// comes to another is found in the journal.
//
// SPEC: J4 T1 T11 DESIGN C2
func TestMessagesReachARunningHandlerFromAnyWorker(t *testing.T) {
	t.Parallel()
	s := talking(t, nil)
	if err := s.Workers[1].Start(s.within(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var chats []handed
	for range 6 {
		chats = append(chats, meanwhileChats...)
	}
	s.each(chats, func(h handed) []said { return h.first })
	s.each(chats, func(h handed) []said { return h.next })
	s.each(chats, func(h handed) []said { return h.again })
	s.verify(told(chats))
}

// A row of the table in docs/conversations.md is a conversation of TestHandOver, or
// names a test of its own; and each of those conversations has its row.
func TestEveryRowOfTheHandOverTableHasATest(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/conversations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "### When a worker is lost\n")
	table, _, _ = strings.Cut(table, "\n#")
	var tests strings.Builder
	for _, pattern := range []string{"*_test.go", "../*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			source, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			tests.Write(source)
		}
	}
	rows := map[string]bool{}
	for _, h := range slices.Concat(waitingChats, meanwhileChats) {
		rows[h.row] = false
	}
	named := regexp.MustCompile(`\| (Test\w+)(?:/([^|]+))? \|\n`).FindAllStringSubmatch(table, -1)
	if lines := strings.Count(table, "\n|"); len(named) != lines-2 {
		t.Errorf("got %d rows that name a test, want all %d", len(named), lines-2)
	}
	for _, n := range named {
		if !strings.Contains(tests.String(), "\nfunc "+n[1]+"(t *testing.T)") {
			t.Errorf("got %s in the table, which is no test", n[1])
		}
		if _, known := rows[n[2]]; n[2] != "" && !known {
			t.Errorf("got the row %q, which is no conversation of TestHandOver", n[2])
		}
		rows[n[2]] = true
	}
	for row, found := range rows {
		if !found && row != "" {
			t.Errorf("the table has no row for %q", row)
		}
	}
}
