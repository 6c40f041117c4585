package bot

import "github.com/botmesh-go/botmesh/flow"

// Context is what a handler has in hand: the turn, with what came in and the
// means to answer, and the words of its command.
type Context struct {
	*flow.Turn
	bot    *Bot
	args   string
	values *values
}

// Args is what follows the command, without the space around it; empty in a
// fallback.
func (c *Context) Args() string { return c.args }

// Commands are the usages of all commands of the bot, its own last.
func (c *Context) Commands() []string { return c.bot.Commands() }
