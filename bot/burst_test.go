package bot_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

// photo is a record of an album.
func photo(seq uint64, album, caption string) botmesh.Record {
	r := wrote(seq, caption)
	r.Message.Group, r.Message.Media = album, []botmesh.Media{{Kind: "image", Ref: fmt.Sprint(seq)}}
	return r
}

// spaced is a midway in whose chat records come one after the other, after their time.
type spaced struct {
	talker
	records []botmesh.Record
	after   []time.Duration
	began   time.Time
}

func (m *spaced) Next(ctx context.Context) (botmesh.Record, error) {
	if len(m.records) > 0 {
		select {
		case <-time.After(time.Until(m.began.Add(m.after[0]))):
			r := m.records[0]
			m.records, m.after = m.records[1:], m.after[1:]
			return r, nil
		case <-ctx.Done():
			return botmesh.Record{}, context.Cause(ctx)
		}
	}
	<-ctx.Done()
	return botmesh.Record{}, context.Cause(ctx)
}

// What is said in quick succession is one message, up to what does not belong to it. The
// rest is left to runs of its own.
func TestQuickMessagesAreOne(t *testing.T) {
	t.Parallel()
	const s = time.Second
	press := botmesh.Record{Type: botmesh.TypeCallback, Seq: 3, Message: botmesh.Message{Payload: "p"}}
	other := wrote(2, "b")
	other.User = "other"
	for _, c := range []struct {
		name    string
		burst   time.Duration
		first   botmesh.Record
		records []botmesh.Record
		after   []time.Duration
		want    string
		through uint64
	}{
		{"a burst", s, wrote(1, "a"), []botmesh.Record{wrote(2, "b"), wrote(3, "c")}, []time.Duration{s * 3 / 5, s * 7 / 5}, "a\nb\nc, 0 files", 3},
		{"too late", s, wrote(1, "a"), []botmesh.Record{wrote(2, "b"), wrote(3, "c")}, []time.Duration{s * 3 / 5, s * 2}, "a\nb, 0 files", 2},
		{"no burst", 0, wrote(1, "a"), []botmesh.Record{wrote(2, "b")}, []time.Duration{0}, "a, 0 files", 0},
		{"a command", s, wrote(1, "a"), []botmesh.Record{wrote(2, "/cancel")}, []time.Duration{0}, "a, 0 files", 0},
		{"a button", s, wrote(1, "a"), []botmesh.Record{wrote(2, "b"), press, wrote(4, "c")}, []time.Duration{0, 0, 0}, "a\nb, 0 files", 2},
		{"another user", s, wrote(1, "a"), []botmesh.Record{other}, []time.Duration{0}, "a, 0 files", 0},
		{"what a hook drops", s, wrote(1, "a"), []botmesh.Record{wrote(2, "spam"), wrote(3, "c")}, []time.Duration{0, 0}, "a\nc, 0 files", 3},
		{"an album", 0, photo(1, "g", ""), []botmesh.Record{photo(2, "g", "look"), photo(3, "g", ""), wrote(4, "a")}, []time.Duration{0, 0, 0}, "look, 3 files", 3},
		{"two albums", 0, photo(1, "g", ""), []botmesh.Record{photo(2, "h", "")}, []time.Duration{0}, ", 1 files", 0},
		{"an album in a burst", s, photo(1, "g", ""), []botmesh.Record{wrote(2, "a")}, []time.Duration{0}, "a, 1 files", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := bot.New().Burst(c.burst)
				b.BeforeMessage(func(in *bot.Incoming) error {
					if in.Message.Text == "spam" {
						return bot.Drop("")
					}
					return nil
				})
				b.Fallback(func(c *bot.Context) error {
					c.Sayf("%s, %d files", c.Text(), len(c.Record().Message.Media))
					return nil
				})
				m := &spaced{records: c.records, after: c.after, began: time.Now()}
				out, err := b.Turn(t.Context(), botmesh.Run{Record: c.first}, m)
				if err != nil {
					t.Fatal(err)
				}
				if got := out.Sends[0].Text; got != c.want || out.Through != c.through {
					t.Errorf("got %q through %d, want %q through %d", got, out.Through, c.want, c.through)
				}
			})
		})
	}
}

// What ended a burst is not lost to a handler that listens: it is the next that it gets.
func TestWhatEndsABurstIsHandedOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := bot.New().Burst(time.Second).Meanwhile(flow.Join)
		b.Fallback(func(c *bot.Context) error {
			c.Sayf("%s, then %s", c.Text(), (<-c.Incoming()).Payload)
			return nil
		})
		press := botmesh.Record{Type: botmesh.TypeCallback, Seq: 3, Message: botmesh.Message{Payload: "p"}}
		m := &spaced{records: []botmesh.Record{wrote(2, "b"), press, wrote(4, "c")}, after: make([]time.Duration, 3)}
		out, err := b.Turn(t.Context(), botmesh.Run{Record: wrote(1, "a")}, m)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := out.Sends[0].Text, "a\nb, then p"; got != want || out.Through != 3 {
			t.Errorf("got %q through %d, want %q through 3", got, out.Through, want)
		}
	})
}

// A question says whether its answer may come in pieces; a crash loses none of them.
func TestAQuestionTakesABurst(t *testing.T) {
	t.Parallel()
	type report struct {
		What string `json:"what"`
	}
	f := flow.New[report]("report", flow.Trigger("/report"), flow.Burst(time.Second))
	flow.Ask(f, "what", ask.Text(), "What happened?", func(c *flow.C[report], what string) flow.Next {
		c.State.What = what
		return c.Goto("when")
	})
	flow.Ask(f, "when", ask.Text(), "When?", func(c *flow.C[report], when string) flow.Next {
		return c.Goto("who")
	}, flow.Burst(0))
	flow.Ask(f, "who", ask.Text(), "Who?", func(c *flow.C[report], who string) flow.Next {
		c.Sayf("%q by %s", c.State.What, who)
		return c.End()
	}, flow.Burst(0))
	b := bot.New().Flow(f)
	b.Fallback(func(c *bot.Context) error { c.Say("got " + c.Text()); return nil })
	p := flowtest.Play(t, b)
	p.User("/report").Bot("What happened?")
	p.CrashOn("it", "fell", "down").Bot("When?")
	p.Quickly("today", "me").Bot("Who?", `"it\nfell\ndown" by me`)
	p.Quickly("a", "b").Bot("got a", "got b").Idle()
}

// A run that is tried again, as one that was cut off while the user wrote and wrote, takes in
// what is there and does not wait for the window's end.
//
// SPEC: T4
func TestABurstThatIsTriedAgainWaitsForNoMore(t *testing.T) {
	t.Parallel()
	for try, want := range map[int]string{1: "a\nb\nc", 2: "a\nb"} {
		synctest.Test(t, func(t *testing.T) {
			b := bot.New().Burst(10 * time.Second)
			b.Fallback(func(c *bot.Context) error { c.Say(c.Text()); return nil })
			began := time.Now()
			m := &spaced{records: []botmesh.Record{wrote(2, "b"), wrote(3, "c")}, after: []time.Duration{0, 3 * time.Second}, began: began}
			out, err := b.Turn(t.Context(), botmesh.Run{Record: wrote(1, "a"), Try: try}, m)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); out.Sends[0].Text != want || try > 1 && took > time.Second {
				t.Errorf("try %d: got %q after %v, want %q, and the second try within a second", try, out.Sends[0].Text, took, want)
			}
		})
	}
}

// A window that is too long is refused.
func TestABurstIsBounded(t *testing.T) {
	t.Parallel()
	f := flow.New[struct{}]("f", flow.Burst(time.Minute))
	flow.Ask(f, "a", ask.Text(), "?", func(c *flow.C[struct{}], _ string) flow.Next { return c.End() }, flow.Burst(-1))
	err := bot.New().Burst(11 * time.Second).Flow(f).Validate()
	for _, want := range []string{"is 11s, want", "it has a burst with a window of 1m0s", `step "a" has a burst with a window of -1ns`} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}
