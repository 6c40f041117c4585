// Package dev runs a bot as a whole fleet in one process, for its author: nothing to
// install, a chat in the browser, and conversations that go on when it starts again.
//
// A program that imports it links a NATS server. Let the one that runs in production
// be another, with worker.Main:
//
//	mybot/bot.go            package mybot: func Bot() *bot.Bot
//	mybot/cmd/dev/main.go   dev.Main(mybot.Bot())
//	mybot/cmd/mybot/main.go worker.Main(mybot.Bot())
//
// What belongs here: the call that a main makes. The wiring is internal.
package dev

import (
	"context"

	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/ingress"
	"github.com/botmesh-go/botmesh/internal/devd"
	"github.com/botmesh-go/botmesh/internal/program"
	"github.com/botmesh-go/botmesh/provider"
)

// Main runs b with a NATS server, an ingress and two workers until Ctrl-C, and exits. It
// does not return. The bot answers at http://127.0.0.1:8080, and on the platforms whose
// settings are there (BOTMESH_ variables, flags, a YAML file). Everything is kept in the
// folder .botmesh; who removes that begins anew.
//
// The server is at 127.0.0.1:4222 if that is free, so that botmesh, with the same
// settings, shows and does there what it does with a fleet.
//
// Exit codes: 0 when it was stopped; 2 if the settings or the bot are wrong, with a line
// on standard error for each thing; 1 for anything else.
func Main(b *bot.Bot) { Config{Bot: b}.Main() }

// Config is what a program may add. Bot is required.
type Config struct {
	Bot *bot.Bot
	// Dir is where everything is kept. One process at a time uses it. Defaults to .botmesh.
	Dir string
	// Receivers and Senders are platforms that Botmesh has none of, beside those that the
	// settings know: what a fleet gives to ingressmain.Main and to worker.Main.
	Receivers []provider.Receiver
	Senders   []provider.Sender
	// OnRole is that of ingressmain.Config.
	OnRole func(ctx context.Context, c ingress.RoleChange)
}

// Main is [Main] with what c says.
func (c Config) Main() {
	program.Main(devd.Program(devd.Config{Bot: c.Bot, Dir: c.Dir, Receivers: c.Receivers, Senders: c.Senders, OnRole: c.OnRole}))
}
