package talk

import "github.com/botmesh-go/botmesh/bot"

// people adds those who take over, and says what they were given.
func people(b *bot.Bot) {
	b.Human(func(c *bot.Context) error { c.Say("people have " + c.Text()); return nil })
}
