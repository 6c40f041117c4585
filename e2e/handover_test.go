package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
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
		row:   "people",
		first: []said{{"/form", "Name?"}, {"/human", "a person will answer you here, /bot brings me back"}, {"", "people have /human"}},
		next:  []said{{"hi", "people have hi"}, {"/bot", "here I am again\nName?"}},
		again: []said{{"Bo", "Age?"}, {"6", "Bo is 6"}},
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
	}, {
		row:   "hooks",
		first: []said{{"aloud /hark worker1", "working"}},
		next:  []said{{"", "heard by worker1, begun by worker1, ended by worker2"}},
		again: []said{{"/hello", "hello"}},
	}, {
		row:   "timeout",
		first: []said{{"/wait", "Still there?"}},
		next:  []said{{"", "given up by worker2"}},
		again: []said{{"x", "what is x?"}},
	}, {
		row:   "timer",
		first: []said{{"/nap", "good night"}},
		next:  []said{{"", "woken by worker2"}},
		again: []said{{"x", "what is x?"}},
	},
}

// growing is a row of whose message the text is changed.
const growing = "message that grows"

// waitingFlows counts those of waitingChats in which a flow waits, standing those of
// waitingChats and meanwhileChats in which a handler stands still.
const waitingFlows, standing = 7, 6

// patience is how long the questions and naps of a way to lose a worker last: as long as
// it takes to lose it, on a loaded machine too.
const patience = 6 * time.Second

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
	for _, way := range ways {
		t.Run(way.how, func(t *testing.T) {
			t.Parallel()
			s := talkers(t, way.env)
			chats := slices.Concat(waitingChats, meanwhileChats)
			if err := s.lostAndBack(way, chats, standing, "resumed", waitingFlows); err != nil {
				t.Fatal(err)
			}
			s.verify(told(chats))
			s.oneMessage(chats)
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

// A run that takes too long is cut, and the next try is that of another worker that waits
// for the chat, while the first one lives. What the user said meanwhile is handled there too.
//
// SPEC: H9 H10 H13 T4
func TestACutRunGoesOnAtTheWorkerThatWaits(t *testing.T) {
	t.Parallel()
	s := talking(t, map[string]string{"BOTMESH_SETTLE": "2s", "BOTMESH_DRAIN": "15s"})
	var chats []handed
	for _, h := range waitingChats {
		if slices.Contains([]string{"handler", "step with its answer", growing, "hooks"}, h.row) {
			chats = append(chats, h)
		}
	}
	s.each(chats, func(h handed) []said { return h.first })
	second := s.Workers[1]
	if err := second.Start(s.within(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for i, h := range chats {
		chat := int64(i + 1)
		h.again = nil
		if h.row == "step with its answer" {
			s.say(chat, "5")
			h.next = append([]said{{"", h.next[0].bot}}, h.next[1:]...)
		}
		s.eventually(20*time.Second, "the other worker waits for "+h.row, func(ctx context.Context) error {
			text := fmt.Sprint("more ", len(h.again))
			s.say(chat, text) // whose nudge comes to either
			h.again = append(h.again, said{"", "what is " + text + "?"})
			return waits(ctx, second, fmt.Sprint("telegram/", chat))
		})
		chats[i] = h
	}
	s.each(chats, func(h handed) []said { return slices.Concat(h.next, h.again) })
	s.verify(told(chats))
	if got := s.sum(s.Workers[:1], "bot_lease_lost_total", `reason="settled"`); got < float64(len(chats)) {
		t.Errorf("got %g runs cut at the first worker, want one of each of %d chats", got, len(chats))
	}
}

// waits gives no error if a worker waits for the turn of a chat.
func waits(ctx context.Context, w *fleet.Replica, chat string) error {
	is, err := w.Status(ctx)
	if err == nil && !slices.Contains(is.Lanes, fleet.Lane{Chat: chat, Phase: "waiting"}) {
		err = fmt.Errorf("%s does not", w.Name)
	}
	return err
}

// Handlers listen at one worker while what is said meanwhile comes to another: it is found
// in the journal.
//
// SPEC: J4 T1 T11 DESIGN C2
func TestMessagesReachARunningHandlerFromAnyWorker(t *testing.T) {
	t.Parallel()
	s := talking(t, map[string]string{"BOTMESH_LEASE": "15s"}) // of which a fifteenth passes until it is looked for
	if err := s.Workers[1].Start(s.within(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var chats []handed
	for range 8 {
		chats = append(chats, meanwhileChats...)
	}
	s.each(chats, func(h handed) []said { return h.first })
	watched, stop := context.WithCancel(t.Context())
	reached := make(chan map[string]bool)
	go func() { reached <- s.beside(watched) }()
	s.each(chats, func(h handed) []said { return h.next })
	stop()
	if got := <-reached; len(got) == 0 {
		t.Error("got no chat that waited at one worker while the other ran it: each message came to its own")
	} else {
		t.Logf("%d of %d chats were written to by way of the other worker", len(got), len(chats))
	}
	s.each(chats, func(h handed) []said { return h.again })
	s.verify(told(chats))
}

// beside finds, until its context ends, the chats that one worker runs and another waits for.
func (s *scene) beside(ctx context.Context) map[string]bool {
	found := map[string]bool{}
	for ctx.Err() == nil {
		running := map[string]bool{}
		var waiting []string
		for _, w := range s.Workers {
			is, err := w.Status(ctx)
			if err != nil {
				continue
			}
			for _, l := range is.Lanes {
				switch l.Phase {
				case "running":
					running[l.Chat] = true
				case "waiting":
					waiting = append(waiting, l.Chat)
				}
			}
		}
		for _, chat := range waiting {
			if running[chat] {
				found[chat] = true
			}
		}
	}
	return found
}
