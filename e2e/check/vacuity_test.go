package check

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// A run that broke no promise, but met too little to prove that.
func TestAVacuousRunIsCaught(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		says string
		tell func(s *story)
	}{
		"nothing at all":           {"updates that were taken: 0, want at least 1", func(s *story) { *s = *newStory(s.t) }},
		"no letter":                {"I10, no write replaces unconfirmed effects: there was nothing to look at", func(s *story) { *s = *newStory(s.t) }},
		"nobody looked at Redis":   {"I8, memory and keys of idle chats are bounded: there was nothing to look at", func(s *story) { s.Redis = nil }},
		"too few updates":          {"updates that were taken: 10, want at least 11", func(s *story) { s.Want.Webhooks = 11 }},
		"too few repeated updates": {"updates posted again: 2, want at least 3", func(s *story) { s.Want.Duplicates = 3 }},
		"no write lost":            {"writes that lost: 1, want at least 2", func(s *story) { s.Want.Conflicts = 2 }},
		"every write was answered": {"writes without an answer: 1, want at least 2", func(s *story) { s.Want.Unknowns = 2 }},
		"no turn was taken over":   {"turns taken over: 0, want at least 1", func(s *story) { s.Want.TakeOvers = 1 }},
		"no part came again":       {"parts that came again: 2, want at least 3", func(s *story) { s.Want.Repeats = 3 }},
		"too few sends":            {"sends of backends that were taken: 1, want at least 2", func(s *story) { s.Want.Orders = 2 }},
		"no send was repeated":     {"sends of backends asked for again: 1, want at least 2", func(s *story) { s.Want.OrdersAgain = 2 }},
		"too few timers":           {"timers that took effect: 2, want at least 3", func(s *story) { s.Want.Timers = 3 }},
		"no timer was replaced":    {"timers that were taken back: 1, want at least 2", func(s *story) { s.Want.Disarmed = 2 }},
		"a fault without effect": {"the fault flush of redis at", func(s *story) {
			s.op("lab", history.Event{Kind: history.Fault, ID: "flush", Target: "redis"}, history.Event{Kind: history.Fault}, nil)
		}},
		"a fault that failed": {"which could not be done: no way", func(s *story) {
			s.op("lab", history.Event{Kind: history.Fault, ID: "flush", Target: "redis"}, history.Event{Kind: history.Fault, Effect: "some", Error: "no way"}, nil)
		}},
		"a fault without end": {"which never ended", func(s *story) {
			s.op("lab", history.Event{Kind: history.Fault, ID: "flush", Target: "redis"}, history.Event{}, nil)
		}},
		"nobody healed": {"nobody said that they were healed", func(s *story) {
			s.Events = s.Events[:len(s.Events)-1]
		}},
		"a point that never fired": {"the crash point ack.after, which never fired", func(s *story) {
			s.note("w1.1", history.Event{Kind: history.Point, ID: "ack.before", Outcome: "kill"})
			s.Want.Points = []string{"ack.before", "ack.after"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			good(s)
			tt.tell(s)
			v := Judge(s.Evidence)
			if err := v.Err(); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want it to say %q", err, tt.says)
			}
			for _, f := range v.Findings {
				if len(f.Violations) > 0 {
					t.Errorf("got %v, want no violation", f.Violations)
				}
			}
		})
	}
}

// The account of a verdict names the chat and is bounded.
func TestAVerdictTellsAFewOfMany(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	good(s)
	for range 9 {
		s.post(s.chat(3), s.update(1), false)
	}
	err := Judge(s.Evidence).Err()
	if err == nil || strings.Count(err.Error(), "I1: chat telegram.3: ") != maxTold || !strings.Contains(err.Error(), "I1: and 4 more") {
		t.Errorf("got %v, want %d accounts of chat telegram.3 and 4 more", err, maxTold)
	}
}

// What befalls a process, or its way to the streams or the platform, puts its calls in
// doubt; what befalls Redis, another process or the platform itself does not.
func TestFaultsThatPutACallInDoubt(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]bool{
		"w1.1": true, "w1": true, "*": true, "nats": true, "nats2": true, "nats1>nats3": true,
		"w1>nats": true, "w1.1>platform": true, "nats>w1": true, "*>nats2": true, "platform>*": true,
		"w2.1": false, "w2": false, "w": false, "w1.2": false, "w11": false, "redis": false, "platform": false,
		"w1>redis": false, "w2>nats": false, "ingress1>nats": false, "*>redis": false,
	} {
		if got := separates(target, "w1.1"); got != want {
			t.Errorf("%s: got %t for w1.1, want %t", target, got, want)
		}
	}
}

func TestADumpComesBackFromItsFile(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	good(s)
	memory := jet.NewMemory().Stream("BOT_demo_INBOX", jet.MemoryConfig{})
	for _, m := range s.Inbox {
		if _, err := memory.Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: m.Subject, Data: m.Data}}); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "inbox.jsonl")
	if gone, err := Save(t.Context(), memory, file); err != nil || len(gone) > 0 {
		t.Fatalf("got %v gone and error %v, want all", gone, err)
	}
	for chat, want := range map[string]int{"telegram.1": 7, "telegram.2": 9, "telegram.9": 0} {
		back, err := Restore(file, func(subject string) bool { return ChatOf("demo", subject) == chat })
		if err != nil || len(back) != want {
			t.Errorf("%s: got %d messages and error %v, want %d", chat, len(back), err, want)
		}
		for _, m := range back {
			want := jet.Msg{Subject: s.Inbox[m.Seq-1].Subject, Data: s.Inbox[m.Seq-1].Data}
			if diff := cmp.Diff(want, m.Msg); diff != "" {
				t.Errorf("message %d (-want +got):\n%s", m.Seq, diff)
			}
		}
	}
}

// What is not there any more is told, wherever it stood.
func TestADumpTellsWhatIsGone(t *testing.T) {
	t.Parallel()
	memory := jet.NewMemory().Stream("BOT_demo_INBOX", jet.MemoryConfig{})
	for _, subject := range []string{"gone", "a", "gone", "b"} {
		if _, err := memory.Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: subject}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := memory.Purge(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	var left []uint64
	gone, err := Dump(t.Context(), memory, func(m jet.Stored) error { left = append(left, m.Seq); return nil })
	if !slices.Equal(gone, []uint64{1, 3}) || !slices.Equal(left, []uint64{2, 4}) || err != nil {
		t.Errorf("got %d gone, %d left and error %v, want 1 and 3 gone, 2 and 4 left", gone, left, err)
	}
}

func TestSubjectsTellTheirChat(t *testing.T) {
	t.Parallel()
	for subject, want := range map[string]string{
		"bot.in.demo.telegram.7": "telegram.7", "bot.timer.demo.telegram.7.e-4-t0": "telegram.7", "$KV.BOT_demo_CP.telegram.7": "telegram.7",
		"bot.out.demo.telegram.7": "telegram.7", "bot.rcpt.demo.telegram.7": "telegram.7", "bot.dead.demo.telegram.7.e-4": "telegram.7",
		"bot.in.other.telegram.7": "", "bot.status.demo.telegram.7": "", "$KV.BOT_demo_CP.swept": "", "bot.dead.demo.x": "",
	} {
		if got := ChatOf("demo", subject); got != want {
			t.Errorf("%s: got %q, want %q", subject, got, want)
		}
	}
}
