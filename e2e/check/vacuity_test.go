package check

import (
	"path/filepath"
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
		"too few updates":          {"updates that were taken: 7, want at least 8", func(s *story) { s.Want.Webhooks = 8 }},
		"too few repeated updates": {"updates posted again: 2, want at least 3", func(s *story) { s.Want.Duplicates = 3 }},
		"no write lost":            {"writes that lost: 1, want at least 2", func(s *story) { s.Want.Conflicts = 2 }},
		"every write was answered": {"writes without an answer: 1, want at least 2", func(s *story) { s.Want.Unknowns = 2 }},
		"no turn was taken over":   {"turns taken over: 0, want at least 1", func(s *story) { s.Want.TakeOvers = 1 }},
		"no part came again":       {"parts that came again: 2, want at least 3", func(s *story) { s.Want.Repeats = 3 }},
		"a fault without effect": {"the fault flush of redis at", func(s *story) {
			s.op("lab", history.Event{Kind: history.Fault, ID: "flush", Target: "redis"}, history.Event{Kind: history.Fault}, nil)
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
	dump, err := Dump(t.Context(), memory)
	if err != nil {
		t.Fatal(err)
	}
	if len(dump) != len(s.Inbox) {
		t.Errorf("got %d messages, want %d", len(dump), len(s.Inbox))
	}
	for i, m := range dump {
		if m.Seq != uint64(i+1) || m.Subject != s.Inbox[i].Subject || string(m.Data) != string(s.Inbox[i].Data) {
			t.Errorf("message %d: got %+v, want %+v", i, m, s.Inbox[i])
		}
	}
	file := filepath.Join(t.TempDir(), "inbox.jsonl")
	if err := Save(file, s.Inbox); err != nil {
		t.Fatal(err)
	}
	back, err := Restore(file)
	if diff := cmp.Diff(s.Inbox, back); err != nil || diff != "" {
		t.Errorf("got error %v and (-want +got):\n%s", err, diff)
	}
}

// A stream that lost something proves nothing.
func TestADumpOfAStreamThatForgotIsRefused(t *testing.T) {
	t.Parallel()
	memory := jet.NewMemory().Stream("KV_BOT_demo_CP", jet.MemoryConfig{MaxPerSubject: 1})
	for range 3 {
		if _, err := memory.Publish(t.Context(), jet.Publish{Msg: jet.Msg{Subject: "a"}}); err != nil {
			t.Fatal(err)
		}
	}
	if dump, err := Dump(t.Context(), memory); err == nil {
		t.Errorf("got %v, want an error", dump)
	}
}
