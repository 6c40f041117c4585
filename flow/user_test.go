package flow_test

import (
	"errors"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

const visits flow.User[int] = "visits"

var desk = botmesh.ChatKey{Provider: "test", Chat: "desk"}

// knowing counts what a user says, and tells the desk.
func knowing(t *testing.T) *bot.Bot {
	return bot.New().
		Command("/forget", func(c *bot.Context) error { return visits.Remove(c) }).
		Command("/later", func(c *bot.Context) error {
			c.Arm(botmesh.Timer{Name: "later", At: c.Now().Add(time.Minute)})
			return nil
		}).
		Timer("later", func(c *bot.Context) error {
			if _, err := visits.Get(c); !errors.Is(err, flow.ErrNoUser) {
				t.Errorf("in a timer's turn: got %v, want ErrNoUser", err)
			}
			if err := visits.Set(c, 1); !errors.Is(err, flow.ErrNoUser) {
				t.Errorf("in a timer's turn: got %v, want ErrNoUser", err)
			}
			return nil
		}).
		Fallback(func(c *bot.Context) error {
			n, err := visits.Get(c)
			if err != nil {
				return err
			}
			if err := visits.Set(c, n+1); err != nil {
				return err
			}
			if n, err = visits.Get(c); err != nil { // as this turn set it
				return err
			}
			c.Sayf("visit %d", n)
			c.SendTo(desk, botmesh.Send{Text: c.Text()})
			c.SendTo(desk, botmesh.Send{Text: "answered"})
			return nil
		})
}

// SPEC: C7. DESIGN: C9.
func TestAUserIsKnownAndOthersAreTold(t *testing.T) {
	t.Parallel()
	flowtest.Play(t, knowing(t)).
		User("hello").Bot("visit 1").Told(desk, "hello", "answered").
		User("again").Bot("visit 2").Told(desk, "again", "answered").
		CrashOn("crash").Bot("visit 3").Told(desk, "crash", "answered").
		User("/forget").
		User("hello").Bot("visit 1").Told(desk, "hello", "answered").
		User("/later").Advance(time.Hour).Told(desk)
}

// A value whose type another wrote is an error of the run, and says whose.
func TestAUsersValueOfAnotherType(t *testing.T) {
	t.Parallel()
	const words flow.User[string] = "visits"
	flowtest.Play(t, bot.New().Fallback(func(c *bot.Context) error {
		if c.Text() == "write" {
			return visits.Set(c, 1)
		}
		_, err := words.Get(c)
		return err
	})).User("write").Poison("read")
	const bad flow.User[func()] = "bad"
	flowtest.Play(t, bot.New().Fallback(func(c *bot.Context) error { return bad.Set(c, nil) })).Poison("x")
}

// SPEC: H13. What a script did before the question that is open, it did: when it runs again
// for the answer nothing of it is done once more.
func TestAScriptDoesAllOfItOnce(t *testing.T) {
	t.Parallel()
	b := planner(func(c *flow.Talk[trip]) (flow.Next, error) {
		grows, err := c.Stream("…")
		if err != nil {
			return flow.Next{}, err
		}
		grows.Set("hello")
		c.Say("I ask you")
		c.SendTo(desk, botmesh.Send{Text: "somebody comes"})
		c.Arm(botmesh.Timer{Name: "nap", At: c.Now().Add(time.Hour)})
		if err := visits.Set(c, 1); err != nil {
			return flow.Next{}, err
		}
		if _, err := flow.Await(c, "to", ask.Text(), "Where to?"); err != nil {
			return flow.Next{}, err
		}
		return c.End(), nil
	})
	b.Command("/set", func(c *bot.Context) error { return visits.Set(c, 7) })
	b.Command("/get", func(c *bot.Context) error {
		n, err := visits.Get(c)
		c.Sayf("%d", n)
		return err
	})
	b.Timer("nap", func(c *bot.Context) error { c.Say("woken"); return nil })
	p := flowtest.Play(t, b)
	p.User("/plan").Bot("hello", "I ask you", "Where to?").Told(desk, "somebody comes")
	p.User("/set").Advance(30 * time.Minute).User("Rome").Silent().Told(desk).Idle()
	p.User("/get").Bot("7").Advance(31 * time.Minute).Bot("woken").Advance(time.Hour)
}
