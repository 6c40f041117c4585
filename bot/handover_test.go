package bot_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

// brief is a bot with a flow that is not kept, and what became of it at each hand-over.
func brief(h bot.Handover, told *[]string) *bot.Bot {
	f := flow.New[form]("brief", flow.Trigger("/brief"), flow.Ephemeral(10*time.Minute))
	flow.Ask(f, askName, ask.Text(), "Name?", func(c *flow.C[form], s string) flow.Next {
		c.State.Name = s
		return c.Goto(askSure)
	}, flow.Timeout(time.Hour, askSure))
	flow.Ask(f, askSure, ask.Confirm(), "Sure?", func(c *flow.C[form], yes bool) flow.Next {
		c.Sayf("%s: %t", c.State.Name, yes)
		return c.End()
	})
	return hearing(bot.New().Flow(f).Handover(h), told)
}

// hearing has a bot say what else it hears, and writes down what it is told.
func hearing(b *bot.Bot, told *[]string) *bot.Bot {
	return b.Fallback(said).
		Command("/echo <text>", echo).
		On(botmesh.TypeReaction, func(c *bot.Context) error { c.Say("thanks"); return nil }).
		OnHandover(func(_ context.Context, m botmesh.Handover) { *told = append(*told, m.Flow+" "+string(m.Result)) })
}

func heardOf(t *testing.T, told []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told of hand-overs (-want +got):\n%s", diff)
	}
}

// Who cancels a flow that was lost means what they say: it is not begun anew.
func TestALostFlowIsCancelled(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]bot.Handover{
		"forgotten": {}, "notified": {Lost: bot.Notify}, "restarted": {Lost: bot.Restart},
		"decided": {Decide: func(c *bot.Context, _ bot.Lost) (bool, error) { c.Say("lost"); return true, nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told []string
			p := flowtest.Play(t, brief(h, &told))
			p.User("/brief").Bot("Name?")
			p.HandOver(brief(h, &told)).User("/Cancel").Bot("cancelled").Idle()
			heardOf(t, told, "brief dropped")
		})
	}
}

// SPEC: H1 H6 H7 H11. A flow that is not kept goes on where it is, and is lost elsewhere.
func TestAFlowThatIsNotKeptIsLostAtAHandOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		h       bot.Handover
		answers []string
		told    string
	}{
		"forgotten": {bot.Handover{}, []string{"said: yes"}, "dropped"},
		"notified":  {bot.Handover{Lost: bot.Notify}, []string{"we were interrupted, please begin again"}, "notified"},
		"restarted": {bot.Handover{Lost: bot.Restart}, []string{"Name?"}, "restarted"},
		"decided": {bot.Handover{Decide: func(c *bot.Context, l bot.Lost) (bool, error) {
			c.Say(l.Flow + " " + l.Step + " " + string(l.State))
			return c.Text() != "yes", nil
		}}, []string{`brief sure {"name":"Ana"}`, "said: yes"}, "custom"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told []string
			p := flowtest.Play(t, brief(c.h, &told))
			p.User("/brief").Bot("Name?").Advance(30 * time.Minute).User("Ana").Bot("Sure?") // it stays here as long as it likes
			p.HandOver(brief(c.h, &told)).Record(botmesh.Record{Type: botmesh.TypeReaction}).Bot("thanks")
			p.Record(botmesh.Record{Type: botmesh.TypeCommand, Sends: []botmesh.Send{{Text: "by the way"}}}).Bot("by the way")
			heardOf(t, told)
			p.CrashOn("yes").Bot(c.answers...)
			heardOf(t, told, "brief "+c.told)
			if c.told != "restarted" {
				p.Idle().User("yes").Bot("said: yes")
			}
			heardOf(t, told, "brief "+c.told)
		})
	}
}

// A flow that this build does not have can not begin anew: it is forgotten.
func TestALostFlowThatIsGoneIsForgotten(t *testing.T) {
	t.Parallel()
	var told []string
	h := bot.Handover{Lost: bot.Restart}
	p := flowtest.Play(t, brief(h, &told))
	p.User("/brief").Bot("Name?").HandOver(hearing(bot.New().Handover(h), &told)).User("Ana").Bot("said: Ana").Idle()
	heardOf(t, told, "brief dropped")
}

// What is said from outside, or refused, does not make a lost flow one of this process.
func TestALostFlowStaysLost(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]botmesh.Record{
		"a command from outside": {Type: botmesh.TypeCommand, Sends: []botmesh.Send{{Text: "usage: /echo <text>"}}},
		"a refused command":      {Type: botmesh.TypeMessage, Message: botmesh.Message{Text: "/echo"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told []string
			p := flowtest.Play(t, brief(bot.Handover{}, &told))
			p.User("/brief").Bot("Name?").HandOver(brief(bot.Handover{}, &told))
			p.Record(first).Bot("usage: /echo <text>").User("Ana").Bot("said: Ana").Idle()
			heardOf(t, told, "brief dropped")
		})
	}
}

// SPEC: H6 H8 H11. A flow that is forwarded goes on at another replica for a while after
// its last question, never less than until that times out, also at one that forwards none.
func TestAFlowIsForwarded(t *testing.T) {
	t.Parallel()
	var told []string
	on := bot.Handover{Forward: true, Lost: bot.Notify}
	p := flowtest.Play(t, brief(on, &told))
	p.User("/brief").Bot("Name?").Advance(50 * time.Minute).HandOver(brief(on, &told))
	p.User("/echo hi").Bot("hi").HandOver(brief(bot.Handover{}, &told))
	p.User("Ana").Bot("Sure?") // and lives with this one from here on
	heardOf(t, told, "brief forwarded", "brief forwarded")

	told = nil
	p = flowtest.Play(t, brief(on, &told))
	p.User("/brief").Bot("Name?").User("Ana").Bot("Sure?").Advance(9 * time.Minute).HandOver(brief(on, &told))
	p.User("perhaps").Bot("Please answer yes or no.\nSure?").Advance(9 * time.Minute).User("yes").Bot("Ana: true")
	heardOf(t, told, "brief forwarded")

	told = nil
	p.User("/brief").Bot("Name?").User("Ana").Bot("Sure?").Advance(11 * time.Minute).User("yes").Bot("said: yes").Idle()
	heardOf(t, told) // its time was up

	p = flowtest.Play(t, brief(on, &told))
	p.User("/brief").Bot("Name?").User("Ana").Bot("Sure?").HandOver(brief(bot.Handover{}, &told))
	p.Advance(11 * time.Minute).User("yes").Bot("said: yes").Idle()
	heardOf(t, told) // also at one that forwards none
}

// SPEC: H6 H7. A flow is forwarded only to a build whose question is the same.
func TestAFlowThatChangedIsNotForwarded(t *testing.T) {
	t.Parallel()
	changed := false
	h := bot.Handover{Forward: true, Decide: func(c *bot.Context, l bot.Lost) (bool, error) {
		changed = l.Changed
		c.Say("lost")
		return true, nil
	}}
	var told []string
	build := func(ask func(f *flow.Flow[form])) *bot.Bot {
		f := flow.New[form]("brief", flow.Trigger("/brief"), flow.Ephemeral(0))
		ask(f)
		return hearing(bot.New().Flow(f).Handover(h), &told)
	}
	end := func(c *flow.C[form], s string) flow.Next { c.Say("thanks, " + s); return c.End() }
	text := func(f *flow.Flow[form]) { flow.Ask(f, askName, ask.Text(), "Name?", end) }
	for name, c := range map[string]struct {
		to   func(f *flow.Flow[form])
		lost bool
	}{
		"same":    {text, false},
		"more":    {func(f *flow.Flow[form]) { text(f); flow.Ask(f, "more", ask.Text(), "More?", end) }, false},
		"renamed": {func(f *flow.Flow[form]) { flow.Ask(f, "who", ask.Text(), "Who?", end, flow.Was("name")) }, false},
		"kind":    {func(f *flow.Flow[form]) { flow.Ask(f, askName, ask.Email(), "Mail?", end) }, true},
		"gone":    {func(f *flow.Flow[form]) { flow.Ask(f, "who", ask.Text(), "Who?", end) }, true},
	} {
		p := flowtest.Play(t, build(text))
		p.User("/brief").Bot("Name?").Redeploy(build(c.to)).User("a@example.org")
		if changed = changed && c.lost; c.lost {
			p.Bot("lost").Idle()
		} else {
			p.Bot("thanks, a@example.org").Idle()
		}
		if c.lost && !changed {
			t.Errorf("%s: got it lost for another reason, want that it changed", name)
		}
	}
}

func TestHandoverThatIsWrong(t *testing.T) {
	t.Parallel()
	for _, h := range []bot.Handover{
		{TTL: -1}, {Lost: 7}, {Lost: bot.Notify, Decide: func(*bot.Context, bot.Lost) (bool, error) { return false, nil }},
	} {
		if err := bot.New().Handover(h).Validate(); err == nil || !strings.Contains(err.Error(), "Handover: ") {
			t.Errorf("%+v: got %v, want it refused", h, err)
		}
	}
}
