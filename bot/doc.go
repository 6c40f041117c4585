// Package bot is where an author says what a bot does: commands, flows and what
// happens to everything else.
//
//	b := bot.New()
//	b.Command("/echo <text>", func(c *bot.Context) error {
//		if c.Args() == "" {
//			return bot.ErrUsage
//		}
//		c.Say(c.Args())
//		return nil
//	})
//	b.Fallback(func(c *bot.Context) error {
//		c.Sayf("you said: %s", c.Text())
//		return nil
//	})
//
// A message or a pressed button is routed so:
//
//   - A command ("/echo hi", "/echo@mybot hi") runs its handler, even while a flow
//     waits for an answer; the question stays open. An unknown one is told so.
//   - A flow's trigger begins it. While it waits, its own trigger begins it anew,
//     and the trigger of another is refused until it has ended.
//   - /cancel ends the flow that waits. /back asks the question before, if a flow has
//     [flow.Back]; /help helps with the question, if a step has [flow.Help].
//   - Anything else is the answer to the open question if there is one, a trigger
//     if it is the word of one, and else is for the fallback.
//
// A pressed button counts as its payload, so that a button can carry a command.
// Records of other types have no effect.
//
// A handler that returns an error has said and changed nothing: its record is run
// again later, a bounded number of times.
//
// What belongs here: registering, routing, the texts that a bot says by itself,
// and the values it keeps for a chat. Conversations are in package flow; running a
// bot is for package worker.
package bot
