package replay_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/replay"
	"github.com/botmesh-go/botmesh/journal"
)

var key = botmesh.ChatKey{Provider: "telegram", Chat: "5"}

// openJournal opens an empty journal in memory.
func openJournal(t *testing.T, server *jet.Memory) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), journal.Config{
		Bot: "demo", Dead: server.Stream(journal.DeadStream("demo"), jet.MemoryConfig{}),
		Inbox: server.Stream(journal.InboxStream("demo"), jet.MemoryConfig{Metadata: map[string]string{"botmesh.epoch": "e1"}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func publish(t *testing.T, j *journal.Journal, r botmesh.Record) {
	t.Helper()
	if _, err := j.Publish(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// What is before a range is run for its state and not shown, what is behind it is not run.
//
// SPEC: J7
func TestARangeIsShownAsItWouldBeInItsPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := openJournal(t, jet.NewMemory())
		began := time.Now()
		for i := range 6 {
			if i > 0 {
				time.Sleep(time.Minute)
			}
			publish(t, j, botmesh.Record{Type: botmesh.TypeMessage, ID: strconv.Itoa(i), Chat: key, Message: botmesh.Message{Text: "hi"}})
		}
		at := func(i int) time.Time { return began.Add(time.Duration(i) * time.Minute) }
		for name, c := range map[string]struct {
			in   replay.Range
			want []uint64 // each says how many it counted
			run  int
		}{
			"all":     {replay.Range{}, []uint64{1, 2, 3, 4, 5, 6}, 6},
			"from":    {replay.Range{From: 5}, []uint64{5, 6}, 6},
			"to":      {replay.Range{From: 2, To: 3}, []uint64{2, 3}, 3},
			"since":   {replay.Range{Since: at(4)}, []uint64{5, 6}, 6},
			"until":   {replay.Range{Since: at(1), Until: at(2).Add(time.Second)}, []uint64{2, 3}, 3},
			"nothing": {replay.Range{From: 7}, nil, 6},
		} {
			var got []uint64
			n, err := replay.Dry(t.Context(), replay.Config{Runner: counter{}, Tries: 1, Settle: time.Second}, j, key, c.in, func(s replay.Step) error {
				got = append(got, s.Seq)
				if want := time.Now().Format(time.DateOnly) + " count: " + strconv.FormatUint(s.Seq, 10); s.Sends[0].Text != want {
					t.Errorf("%s: got %q at #%d, want %q", name, s.Sends[0].Text, s.Seq, want)
				}
				return nil
			})
			if (err != nil) != (c.want == nil) {
				t.Errorf("%s: got %v", name, err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || n.Run != c.run || n.Meant != len(c.want) {
				t.Errorf("%s: got %+v, want %d run (-want +got):\n%s", name, n, c.run, diff)
			}
		}
	})
}

func TestAMomentIsATimeOrHowLongAgo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for text, want := range map[string]time.Time{
			"1h30m": time.Now().Add(-90 * time.Minute), "2030-01-02T03:04:05Z": time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), "-1h": {}, "now": {}, "": {},
		} {
			var m replay.Moment
			err := m.UnmarshalText([]byte(text))
			if (err != nil) != want.IsZero() || !m.Equal(want) {
				t.Errorf("%q: got %v, %v, want %v", text, m, err, want)
			}
		}
	})
}
