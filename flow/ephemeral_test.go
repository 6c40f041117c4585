package flow_test

import (
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/flow"
)

// SPEC: H6. How long a flow is forwarded it says itself, or else its timeout, the bot, or the
// default; and never less than until its open question times out.
func TestHowLongAFlowIsForwarded(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	const own, timeout, bots = time.Minute, 2 * time.Minute, 3 * time.Minute
	for name, c := range map[string]struct {
		opts []flow.Option
		bots time.Duration
		due  time.Duration
		want time.Duration
	}{
		"the flow's":     {[]flow.Option{flow.Ephemeral(own), flow.Timeout[trip](timeout, "x")}, bots, 0, own},
		"its timeout":    {[]flow.Option{flow.Timeout[trip](timeout, "x"), flow.Ephemeral(0)}, bots, 0, timeout},
		"the bot's":      {[]flow.Option{flow.Ephemeral(0)}, bots, 0, bots},
		"the default":    {[]flow.Option{flow.Ephemeral(0)}, 0, 0, 5 * time.Minute},
		"its question's": {[]flow.Option{flow.Ephemeral(own)}, bots, time.Hour, time.Hour},
	} {
		p := flow.Position{In: &flow.Position{}}
		if c.due > 0 {
			p.In.Due = now.Add(c.due)
		}
		b := flow.New[trip]("brief", c.opts...).Brief(p, now, true, c.bots)
		if got := b.Until.Sub(now); got != c.want || !b.Forward {
			t.Errorf("%s: got it forwarded for %v, want %v", name, got, c.want)
		}
	}
}
