package bot_test

import (
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

// alarmBot knows two kinds of timers.
func alarmBot() *bot.Bot {
	b := formBot()
	b.Command("/in <duration>", func(c *bot.Context) error {
		d, err := time.ParseDuration(c.Args())
		if err != nil {
			return bot.ErrUsage
		}
		c.Arm(botmesh.Timer{Name: "alarm/one", At: c.Now().Add(time.Hour)})
		c.Arm(botmesh.Timer{Name: "alarm/one", At: c.Now().Add(d), Data: []byte(c.Args())}) // the last one counts
		c.Arm(botmesh.Timer{Name: "nobody", At: c.Now().Add(d)})
		c.Arm(botmesh.Timer{Name: "alarm/not", At: c.Now().Add(d)})
		c.Disarm("alarm/not")
		return nil
	})
	b.Command("/never", func(c *bot.Context) error { c.Disarm("alarm/one"); return nil })
	b.Timer("alarm", func(c *bot.Context) error {
		c.Sayf("%s after %s", c.Timer().Name, c.Timer().Data)
		if string(c.Timer().Data) == "1m" {
			c.Arm(botmesh.Timer{Name: "alarm/two", At: c.Now().Add(time.Minute), Data: []byte("once more")})
		}
		return nil
	})
	return b
}

// SPEC: H12 S2. DESIGN: N7.
func TestTimersRunTheHandlerOfTheirKind(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, alarmBot())
	p.User("/in 5m").Silent().Advance(4 * time.Minute).Silent()
	p.User("/form").Bot("Name?")
	p.Advance(2 * time.Minute).Bot("alarm/one after 5m").Advance(time.Hour).Silent()
	p.User("Ana").Bot("Sure?").User("yes").Bot("Ana: true") // the open question stayed open

	p.User("/in 1m").Silent().Advance(10*time.Minute).Bot("alarm/one after 1m", "alarm/two after once more")
	p.User("/in 7m").User("/never").Advance(time.Hour).Silent()
}

func TestTimersThatAreWrong(t *testing.T) {
	t.Parallel()
	b := bot.New().Timer("", nil).Timer("a/b", echo).Timer("a", echo).Timer("a", echo)
	err := b.Validate()
	for _, want := range []string{`"" is empty`, `"a/b"`, `"a" is registered twice`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}
