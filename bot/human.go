package bot

import (
	"errors"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/flow"
)

// Human lets people take over from the bot: a user calls them with /human, a flow with
// [flow.C.Human], and /bot brings the bot back. The handler is given the message that
// called them, and each one until /bot, to send it to where they read:
//
//	b.Human(func(c *bot.Context) error {
//		c.SendTo(desk, botmesh.Send{Text: c.Chat().String() + ": " + c.Text()})
//		return nil
//	})
//
// What they answer is no message of the user's: it comes by the API, or a command of
// theirs with c.SendTo. Meanwhile a flow that waits stands still, its timeout too, and /bot
// asks its open question again. Commands and buttons are the bot's as ever; a button that
// is pressed, and a command after which a flow asks something, bring the bot back.
func (b *Bot) Human(handler Handler, opts ...HandlerOption) *Bot {
	if handler == nil || b.human != nil {
		b.fault("Human has no handler, or is registered twice")
	}
	b.human = b.with("the handler of Human", handler, opts)
	return b
}

// callHuman puts the chat through to people.
func (t *turn) callHuman() error {
	if t.bot.human == nil {
		return errors.New("bot: a flow calls people, who have no handler: set Bot.Human")
	}
	t.chat.Human = true
	t.Say(t.T(t.bot.texts.Human))
	return t.handle(t.bot.human, "")
}

// callBot brings the bot back.
func (t *turn) callBot() error {
	if t.chat.Position == nil {
		t.chat.Human = false
		t.Say(t.T(t.bot.texts.Back))
		return nil
	}
	return t.askAgain(t.T(t.bot.texts.Back))
}

// forHuman reports whether the record is a message that people have, not the bot. The press
// of a button ends that.
func (t *turn) forHuman() bool {
	switch t.Record().Type {
	case botmesh.TypeCallback:
		t.chat.Human = false
	case botmesh.TypeMessage:
		_, _, command := parseCommand(t.Text())
		return t.chat.Human && !command
	}
	return false
}

// went is what follows where a flow went to.
func (t *turn) went(p *flow.Position) error {
	t.chat.Position = p
	if t.CallsHuman() {
		return t.callHuman()
	}
	return nil
}
