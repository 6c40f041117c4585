package talk

import (
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
)

// The steps of the flows that differ in two builds.
const (
	size   flow.Step[person] = "size"
	format flow.Step[person] = "format" // was size
	count  flow.Step[person] = "count"
	room   flow.Step[person] = "room" // is gone
	floor  flow.Step[person] = "floor"
	old    flow.Step[person] = "old" // of a flow that is gone
	fresh  flow.Step[person] = "fresh"
)

// builds adds the flows of an earlier build, or of a later one.
func builds(b *bot.Bot, later bool) {
	post := flow.New[person]("post", flow.Trigger("/post"))
	pick := flow.New[person]("pick", flow.Trigger("/pick"))
	book := flow.New[person]("book", flow.Trigger("/book"))
	if !later {
		ends(post, size, "Which size?", "size")
		flow.Ask(pick, count, ask.Int(), "How many?", func(c *flow.C[person], n int) flow.Next {
			c.Sayf("%d picked", n)
			return c.End()
		})
		ends(book, room, "Which room?", "room")
		b.Flow(post).Flow(pick).Flow(book)
		b.Flow(ends(flow.New[person]("elder", flow.Trigger("/elder")), old, "Older?", "older"))
		return
	}
	ends(post, format, "Which format?", "format", flow.Was("size"))
	flow.Ask(pick, count, ask.Confirm(), "Any?", func(c *flow.C[person], any bool) flow.Next {
		c.Sayf("any: %v", any)
		return c.End()
	})
	ends(book, floor, "Which floor?", "floor")
	book.OnChanged(func(c *flow.C[person], gone string) flow.Next {
		c.Sayf("no %s any more, not even %s", gone, c.Text())
		return c.Goto(floor)
	})
	b.Flow(post).Flow(pick).Flow(book)
	b.Flow(ends(flow.New[person]("newer", flow.Trigger("/newer")), fresh, "Newer?", "newer"))
}

// ends adds a step that ends its flow with what it was answered.
func ends(f *flow.Flow[person], s flow.Step[person], asks, says string, opts ...flow.StepOption) *flow.Flow[person] {
	flow.Ask(f, s, ask.Text(), asks, func(c *flow.C[person], text string) flow.Next {
		c.Sayf("%s %s", says, text)
		return c.End()
	}, opts...)
	return f
}
