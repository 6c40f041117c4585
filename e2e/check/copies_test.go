package check

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/botmesh-go/botmesh/internal/jet"
)

// What one node holds and another has not, or has otherwise, is told, wherever it is.
func TestNodesThatDifferAreCaught(t *testing.T) {
	t.Parallel()
	message := func(seq uint64) jet.Stored {
		return jet.Stored{Seq: seq, Time: time.Unix(int64(seq), 0), Msg: jet.Msg{
			Subject: "bot.in.demo.telegram.1", Data: []byte("hi"), Header: nats.Header{"Bot-Type": {"message"}, "Bot-Id": {"7"}},
		}}
	}
	for name, tt := range map[string]struct {
		change func(all []jet.Stored) []jet.Stored
		says   string
	}{
		"nothing":        {func(all []jet.Stored) []jet.Stored { return all }, ""},
		"one is missing": {func(all []jet.Stored) []jet.Stored { return slices.Delete(all, 1, 2) }, "it has no message 2, which nats1 has"},
		"the end is missing": {func(all []jet.Stored) []jet.Stored { return all[:2] },
			"it has no message 4, which nats1 has"},
		"all are missing": {func([]jet.Stored) []jet.Stored { return nil }, "it has no message 1, which nats1 has"},
		"one too many": {func(all []jet.Stored) []jet.Stored { return slices.Insert(all, 2, message(3)) },
			"it has message 3, which nats1 has not"},
		"more at the end": {func(all []jet.Stored) []jet.Stored { return append(all, message(5)) },
			"it has message 5, which nats1 has not"},
		"subject": {func(all []jet.Stored) []jet.Stored { all[1].Subject += "1"; return all }, "its message 2 is another than that of nats1"},
		"data":    {func(all []jet.Stored) []jet.Stored { all[1].Data = []byte("ho"); return all }, "its message 2 is another"},
		"header":  {func(all []jet.Stored) []jet.Stored { all[1].Header.Set("Bot-Id", "8"); return all }, "its message 2 is another"},
		"time":    {func(all []jet.Stored) []jet.Stored { all[1].Time = all[1].Time.Add(1); return all }, "its message 2 is another"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			three := func() []jet.Stored { return []jet.Stored{message(1), message(2), message(4)} }
			s := newStory(t)
			good(s)
			s.Copies = Compare("S", map[string][]Held{
				"nats1": held(three()), "nats2": held(three()), "nats3": held(tt.change(three())),
			})
			err := Judge(s.Evidence).Err()
			switch {
			case tt.says == "":
				if err != nil {
					t.Errorf("got %v, want no finding", err)
				}
			case err == nil || strings.Count(err.Error(), "R3: ") != 1 || !strings.Contains(err.Error(), "the S of nats3") || !strings.Contains(err.Error(), tt.says):
				t.Errorf("got %v, want R3 once, of nats3: %s", err, tt.says)
			}
		})
	}
}

func held(all []jet.Stored) (sums []Held) {
	for _, m := range all {
		sums = append(sums, HeldOf(m))
	}
	return sums
}

// One node alone is not judged; of a cluster that nobody looked at nothing is proved.
func TestCopiesAreJudgedOfAClusterAlone(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	good(s)
	s.Copies = nil
	if err := Judge(s.Evidence).Err(); err == nil || !strings.Contains(err.Error(), "R3, every node holds the same of each stream: there was nothing to look at") {
		t.Errorf("got %v, want nothing proved about R3", err)
	}
	s.Single = true
	if err := Judge(s.Evidence).Err(); err != nil {
		t.Errorf("got %v of one node, want nothing said", err)
	}
}
