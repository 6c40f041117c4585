package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/history"
)

// Who looks at a failed run reads first of the chat in which least happened.
func TestTheShortestAccountComesFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(historyDir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	log, err := history.Open(filepath.Join(historyDir(dir), "w1.1"+history.Suffix), "w1.1")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, chat := range []string{"telegram.1", "telegram.1", "telegram.2"} {
		n := log.Begin(history.Event{Kind: history.Ack, Chat: chat, Seq: 7})
		log.End(n, history.Event{Kind: history.Ack, Chat: chat, Outcome: history.Done})
	}
	fault := history.Event{Kind: history.Fault, ID: "worker frozen", Target: "w1.1"}
	log.Begin(fault)
	log.Begin(history.Event{Kind: history.Call, Chat: "telegram.2", Part: "p"})
	log.Begin(fault) // when all is over in the chats
	none, err := history.ReadDir(historyDir(dir), func(chat string) bool { return chat == "" })
	if err != nil {
		t.Fatal(err)
	}
	v := check.Verdict{
		Findings: []check.Finding{{ID: "I9", Violations: []check.Violation{{Chat: "telegram.1", Account: "long"}, {Chat: "telegram.2", Account: "short"}}}, {ID: "I7", Violations: []check.Violation{{Account: "stuck"}}}},
		Vacuous:  []string{"nothing"},
	}
	for i := range 9 {
		v.Findings[0].Violations = append(v.Findings[0].Violations, check.Violation{Chat: "telegram.2", Account: fmt.Sprint("more ", i)})
	}
	var b strings.Builder
	if err := tell(&b, dir, check.Evidence{Events: none}, v); err != nil {
		t.Fatal(err)
	}
	last := -1
	for _, want := range []string{"I7: stuck", "chat telegram.2", "I9: short", "and 5 more", "chat telegram.1", "I9: long", "NOTHING WAS PROVED about nothing"} {
		at := strings.Index(b.String(), want)
		if at <= last {
			t.Errorf("got %s, want %q after what comes before it", b.String(), want)
		}
		last = at
	}
	story, err := os.ReadFile(filepath.Join(dir, "telegram.2.txt"))
	if n := strings.Count(string(story), "fault worker frozen at=w1.1"); n != 1 {
		t.Errorf("got %s, want the fault that befell the process meanwhile, once", story)
	}
	for _, want := range []string{"I9: short", "w1.1        ack seq=7 = done, ", "call part=p = NO ANSWER"} {
		if err != nil || !strings.Contains(string(story), want) {
			t.Errorf("got %s and error %v, want %q in it", story, err, want)
		}
	}
}

// Each chat is judged once, however many parts there are.
func TestShardsPartChats(t *testing.T) {
	t.Parallel()
	const parts = 5
	var sizes [parts]int
	for chat := range int64(1000) {
		var in []uint32
		for i := range uint32(parts) {
			if (shard{i, parts}).has(history.Telegram(chat)) {
				in = append(in, i)
				sizes[i]++
			}
		}
		if len(in) != 1 {
			t.Fatalf("chat %d: got it in the parts %d, want one", chat, in)
		}
	}
	for i, n := range sizes {
		if n < 100 {
			t.Errorf("part %d: got %d chats of 1000, want about 200", i, n)
		}
	}
	if (shard{0, 1}).has("") {
		t.Error("got what is of no chat in a part, want it apart")
	}
}
