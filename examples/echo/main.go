// Command echo is the smallest bot: it says what it hears.
package main

import (
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/worker"
)

func main() { worker.Main(echo()) }

func echo() *bot.Bot {
	return bot.New().Fallback(func(c *bot.Context) error {
		c.Say(c.Text())
		return nil
	})
}
