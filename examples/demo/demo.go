// Package demo is the demo bot: the bot of the tutorial, of the tests, and of
// cmd/worker. Copy it to begin your own.
package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
)

// Bot makes the demo bot. With BOTMESH_DEMO_CRASH=1 in the environment it knows
// /crash too, which kills the process, and /panic. BOTMESH_DEMO_PATIENCE=10m makes
// /order end when a question stays open for so long.
func Bot() *bot.Bot {
	b := bot.New()
	b.Command("/start", start)
	b.Command("/help", start)
	b.Command("/echo <text>", echo)
	b.Command("/count", count)
	patience, _ := time.ParseDuration(os.Getenv("BOTMESH_DEMO_PATIENCE"))
	b.Flow(orderFlow(patience))
	b.Flow(quizFlow())
	b.Command("/slow <seconds>", slow)
	b.Command("/burst <1-1000>", burst)
	b.Command("/remind <duration> <text>", remind)
	b.Timer("remind", reminder)
	b.Command("/fail <times>", fail)
	b.Command("/poison", poison)
	b.Command("/whoami", whoami)
	if os.Getenv("BOTMESH_DEMO_CRASH") == "1" {
		b.Command("/crash", crash)
		b.Command("/panic <text>", trip)
	}
	b.Fallback(said)
	return b
}

// start greets, and is the help. What a handler says is sent when it has returned without error.
func start(c *bot.Context) error {
	c.Say("Hello! I know these commands:\n" + strings.Join(c.Commands(), "\n"))
	return nil
}

// echo has an argument. A handler that does not like it says so with ErrUsage.
func echo(c *bot.Context) error {
	if c.Args() == "" {
		return bot.ErrUsage
	}
	c.Say(c.Args())
	return nil
}

// visits is a value that the bot keeps for each chat.
const visits bot.State[int] = "visits"

// count counts, each message exactly once whatever crashes: the new value and the
// answer are committed together.
func count(c *bot.Context) error {
	n := visits.Of(c)
	*n++
	c.Sayf("count: %d", *n)
	return nil
}

// slow takes its time. SendNow sends at once, and once only if the run is
// repeated; Context ends when the run must stop.
func slow(c *bot.Context) error {
	seconds, err := strconv.ParseFloat(c.Args(), 64)
	if err != nil || !(0 <= seconds && seconds <= 3600) {
		return bot.ErrUsage
	}
	if err := c.SendNow(botmesh.Send{Text: "working"}); err != nil {
		return err
	}
	select {
	case <-time.After(time.Duration(seconds * float64(time.Second))):
	case <-c.Context().Done():
		return context.Cause(c.Context())
	}
	c.Sayf("done after %ss", c.Args())
	return nil
}

// remind sets a timer, which fires on whichever replica is alive then. Timers of one
// name replace each other, so that each reminder has a name of its own.
func remind(c *bot.Context) error {
	after, text, _ := strings.Cut(c.Args(), " ")
	d, err := time.ParseDuration(after)
	if text = strings.TrimSpace(text); err != nil || d < 0 || text == "" {
		return bot.ErrUsage
	}
	c.Arm(botmesh.Timer{Name: fmt.Sprintf("remind/%d", c.Record().Seq), At: c.Now().Add(d), Data: []byte(text)})
	c.Say("ok")
	return nil
}

// reminder is what a reminder does when it is due.
func reminder(c *bot.Context) error {
	c.Say("reminder: " + string(c.Timer().Data))
	return nil
}

// burst says much. Messages arrive in the order in which they were said.
func burst(c *bot.Context) error {
	n, err := strconv.Atoi(c.Args())
	if err != nil || n < 1 || n > 1000 {
		return bot.ErrUsage
	}
	for i := range n {
		c.Sayf("%d/%d", i+1, n)
	}
	return nil
}

// fail returns an error some times. Its message is run again, after a while, on
// this replica or another: Try counts the runs on all of them.
func fail(c *bot.Context) error {
	n, err := strconv.Atoi(c.Args())
	if err != nil || n < 0 {
		return bot.ErrUsage
	}
	if c.Try() <= n {
		return fmt.Errorf("demo: failing as asked, try %d of %d", c.Try(), n)
	}
	c.Sayf("recovered after %d", n)
	return nil
}

// poison always fails. After some tries its message is set aside, and the chat
// goes on.
func poison(*bot.Context) error { return errors.New("demo: poison") }

// whoami tells the name of the chat.
func whoami(c *bot.Context) error {
	c.Say(c.Chat().String())
	return nil
}

// crash kills the process, as a bug or the machine may do.
func crash(*bot.Context) error {
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	if err := p.Kill(); err != nil {
		return err
	}
	select {}
}

// trip panics, as a bug does. Its run fails, and nothing else.
func trip(c *bot.Context) error { panic(c.Args()) }

// said answers what nothing else does.
func said(c *bot.Context) error {
	if c.Text() == "" {
		c.Say("I can read only text.")
		return nil
	}
	c.Sayf("you said: %s", c.Text())
	return nil
}
