package dev_test

import (
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/dev"
)

// What a bot's author runs while writing it: talk to it at http://127.0.0.1:8080.
func ExampleMain() {
	b := bot.New().Fallback(func(c *bot.Context) error {
		c.Say(c.Text())
		return nil
	})
	dev.Main(b)
}
