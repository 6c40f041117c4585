package flow_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

func TestALockSaysWhatWaitingChatsDependOn(t *testing.T) {
	t.Parallel()
	const want = `flow address {country:string,number:int,street:string}
flow parcel {to:{country:string,number:int,street:string},what:string}
step address/number int
step address/street text
step parcel/right confirm
step parcel/what text
step parcel/where call address
`
	if diff := cmp.Diff(want, flow.Lock(parcelFlow(), addressFlow())); diff != "" {
		t.Errorf("lock (-want +got):\n%s", diff)
	}
}

type before struct {
	Dish string `json:"dish"`
}

type after struct {
	Dish int `json:"dish"`
}

func over[S, T any](c *flow.C[S], _ T) flow.Next { return c.End() }

// What Diff says is what happens.
func TestADiffSaysWhatBecomesOfWaitingChats(t *testing.T) {
	t.Parallel()
	old := flow.New[before]("meal", flow.Trigger("/meal"))
	flow.Ask(old, "dish", ask.Text(), "Dish?", func(c *flow.C[before], s string) flow.Next { return c.Goto(flow.Step[before](s)) })
	flow.Ask(old, "size", ask.Choice("s", "l"), "Size?", over[before, string])
	flow.Ask(old, "count", ask.Int(), "How many?", over[before, int])
	flow.Ask(old, "gone", ask.Int(), "Any?", over[before, int])
	renamed := flow.New[before]("meal", flow.Trigger("/meal"))
	flow.Ask(renamed, "dish", ask.Text(), "Which dish?", over[before, string])
	flow.Ask(renamed, "size", ask.Choice("s", "xl"), "Which size?", over[before, string])
	flow.Ask(renamed, "quantity", ask.Int(), "Quantity?", over[before, int], flow.Was("count"))
	flow.Ask(renamed, "more", ask.Int(), "More?", over[before, int])
	want := []string{
		"step meal/gone: gone, who waits there is stranded until /cancel",
		`step meal/size: was choice("l"|"s") and is choice("s"|"xl"), a reply that is not understood so gets the new question`,
	}
	if diff := cmp.Diff(want, flow.Diff(flow.Lock(old), flow.Lock(renamed))); diff != "" {
		t.Errorf("diff (-want +got):\n%s", diff)
	}
	was, is := bot.New().Flow(old), bot.New().Flow(renamed)
	at := func(step, asked string) *flowtest.Player {
		return flowtest.Play(t, was).User("/meal").Bot("Dish?").User(step).Bot(asked).Redeploy(is)
	}
	at("count", "How many?").User("3").Idle()
	at("size", "Size?").User("l").Bot("Which size?").User("xl").Idle()
	at("gone", "Any?").Poison("3").User("/cancel").Bot("cancelled")

	other := flow.New[after]("meal")
	flow.Ask(other, "dish", ask.Text(), "Dish?", over[after, string])
	got := flow.Diff(flow.Lock(old), flow.Lock(other))
	if len(got) != 4 || !strings.HasPrefix(got[0], "flow meal: its state was {dish:string} and is {dish:int}") {
		t.Errorf("got %q, want the state first", got)
	}
	if got := flow.Diff(flow.Lock(old), flow.Lock(old)); got != nil {
		t.Errorf("the same: got %q, want nothing", got)
	}
}

// A step that is gone is for OnChanged, whatever wakes the chat there.
func TestAStepThatIsGone(t *testing.T) {
	t.Parallel()
	build := func(late bool) *bot.Bot {
		f := flow.New[before]("meal", flow.Trigger("/meal"), flow.Back(2))
		flow.Ask(f, "dish", ask.Text(), "Dish?", func(c *flow.C[before], s string) flow.Next {
			c.State.Dish = s
			return c.Goto("gone")
		})
		if !late {
			flow.Ask(f, "gone", ask.Int(), "Any?", over[before, int])
			return bot.New().Flow(f)
		}
		flow.Ask(f, "new", ask.Int(), func(b before) string { return "How much " + b.Dish + "?" }, over[before, int])
		f.OnChanged(func(c *flow.C[before], gone string) flow.Next {
			if c.Text() == "never" {
				return c.End()
			}
			c.Sayf("There is no %q any more.", gone)
			return c.Goto("new")
		})
		return bot.New().Flow(f)
	}
	waiting := func() *flowtest.Player {
		return flowtest.Play(t, build(false)).User("/meal").Bot("Dish?").User("soup").Bot("Any?").Redeploy(build(true))
	}
	waiting().CrashOn("3").Bot(`There is no "gone" any more.`, "How much soup?").User("3").Idle()
	waiting().User("never").Idle()
	waiting().User("/cancel").Bot("cancelled").Idle()
	waiting().User("/back").Bot("Dish?")
	waiting().Record(botmesh.Record{Type: botmesh.TypeCallback, Message: botmesh.Message{Payload: "~1:x"}}).
		Bot("that button is no longer in use", `There is no "gone" any more.`, "How much soup?")
}

// A change strands waiting chats if there is no step for them, or their state can not be read.
func TestStrands(t *testing.T) {
	t.Parallel()
	const old = "flow meal {dish:string,size:{h:int,w:int}}\nstep meal/dish text\nstep meal/size int\n"
	for name, c := range map[string]struct {
		is   string
		want int
	}{
		"the same":            {old, 0},
		"a field more":        {"flow meal {dish:string,n:int,size:{h:int,w:int}}\nstep meal/dish text\nstep meal/size int\n", 0},
		"a field less":        {"flow meal {size:{h:int}}\nstep meal/dish text\nstep meal/size int\n", 0},
		"another kind":        {"flow meal {dish:string,size:{h:int,w:int}}\nstep meal/dish int\nstep meal/size int\n", 0},
		"another type":        {"flow meal {dish:int,size:{h:int,w:int}}\nstep meal/dish text\nstep meal/size int\n", 1},
		"another type within": {"flow meal {dish:string,size:{h:int,w:string}}\nstep meal/dish text\nstep meal/size int\n", 1},
		"no struct any more":  {"flow meal string\nstep meal/dish text\nstep meal/size int\n", 1},
		"a step gone":         {"flow meal {dish:string,size:{h:int,w:int}}\nstep meal/dish text\n", 1},
		"a step renamed":      {"flow meal {dish:string,size:{h:int,w:int}}\nstep meal/dish text\nstep meal/large int\nwas meal/size meal/large\n", 0},
		"all gone":            {"", 3},
	} {
		if got := flow.Strands(old, c.is); len(got) != c.want {
			t.Errorf("%s: got %q, want %d", name, got, c.want)
		}
	}
}

// failing is a test that notes that it failed.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Errorf(format string, args ...any) { f.said = format }
func (f *failing) Helper()                           {}

func TestAFileLocksFlows(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "flows.lock")
	if err := os.WriteFile(file, []byte(flow.Lock(parcelFlow())), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &failing{TB: t}
	if flowtest.Lock(f, file, parcelFlow()); f.said != "" {
		t.Errorf("the same flows: got %q, want nothing", f.said)
	}
	if flowtest.Lock(f, file, addressFlow()); f.said == "" {
		t.Error("other flows: got no failure, want one")
	}
}
