package bot_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

type profile struct {
	Name string   `json:"name"`
	Tags []string `json:"tags"`
}

const (
	visits  bot.State[int]     = "visits"
	about   bot.State[profile] = "about"
	visits2 bot.State[string]  = "visits" // a mistake
	handler bot.State[func()]  = "handler"
	ratio   bot.State[float64] = "ratio"
)

func countVisit(c *bot.Context) error {
	n := visits.Of(c)
	*n++
	c.Sayf("visit %d", *visits.Of(c))
	return nil
}

func TestStateIsKeptForTheChat(t *testing.T) {
	t.Parallel()
	b := formBot().
		Command("/visit", countVisit).
		Command("/forget", func(c *bot.Context) error { *visits.Of(c) = 0; return nil }).
		Command("/lose", func(c *bot.Context) error { *visits.Of(c) = 99; return bot.ErrUsage }).
		Command("/break", func(c *bot.Context) error { *visits.Of(c) = 99; return errBroken }).
		Command("/tag <tag>", func(c *bot.Context) error {
			p := about.Of(c)
			p.Tags = append(p.Tags, c.Args())
			c.Say(strings.Join(p.Tags, " "))
			return nil
		})
	p := flowtest.Play(t, b)
	p.User("/visit").Bot("visit 1")
	p.User("/form").Bot("Name?").User("/visit").Bot("visit 2").User("Ana").Bot("Sure?").User("yes").Bot("Ana: true")
	p.User("/lose").Bot("usage: /lose").Poison("/break")
	p.CrashOn("/visit").Bot("visit 3")
	p.User("/tag a").Bot("a").User("/tag b").Bot("a b")
	p.User("/forget").User("/visit").Bot("visit 1")
}

// DESIGN C10. A chat about which nothing is known leaves nothing.
func TestAZeroValueIsNotStored(t *testing.T) {
	t.Parallel()
	b := bot.New().Command("/zero", func(c *bot.Context) error {
		*visits.Of(c) = 0
		*about.Of(c) = profile{}
		return nil
	})
	out, err := b.Turn(t.Context(), botmesh.Run{
		State:  []byte(`{"v":1,"values":{"about":{"name":"Ana","tags":null},"visits":3}}`),
		Record: botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Text: "/zero"}},
	}, nil)
	if diff := cmp.Diff(botmesh.Outcome{}, out); diff != "" || err != nil {
		t.Errorf("got error %v, outcome (-want +got):\n%s", err, diff)
	}
}

func TestStateThatCanNotBeKept(t *testing.T) {
	t.Parallel()
	b := bot.New().
		Command("/text", func(c *bot.Context) error { visits2.Of(c); return errBroken }).
		Command("/both", func(c *bot.Context) error { visits.Of(c); *visits2.Of(c) = "x"; return nil }).
		Command("/func", func(c *bot.Context) error { handler.Of(c); return nil }).
		Command("/nan", func(c *bot.Context) error { zero := 0.0; *ratio.Of(c) = zero / zero; return nil })
	for command, want := range map[string]string{
		"/text": flow.ErrStranded.Error() + `: state "visits" can not be read: it is of kind number, want string`,
		"/both": `bot: state "visits" is used as string and as *int`,
		"/func": `bot: state "handler" can not be kept: func() is of kind func`,
		"/nan":  `bot: state "ratio" can not be encoded`,
	} {
		for range 2 { // the second time the fault of a type is known
			_, err := b.Turn(t.Context(), botmesh.Run{
				State:  []byte(`{"v":1,"values":{"visits":3}}`),
				Record: botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Text: command}},
			}, nil)
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: got error %v, want %q", command, err, want)
			}
		}
	}
}
