package worker

import (
	"context"

	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/program"
	"github.com/botmesh-go/botmesh/internal/workerd"
	"github.com/botmesh-go/botmesh/provider"
)

// Main is the whole worker program of a bot: it reads its settings (flags,
// BOTMESH_ variables, a YAML file), serves chats until SIGTERM or SIGINT, drains,
// and exits. It does not return.
//
// own are senders of platforms that Botmesh has none of, beside those that the settings
// know; package ingressmain is the program that takes their webhooks.
//
// Exit codes: 0 after a drain; 2 if the settings, the bot or the streams are
// wrong, with a line on standard error for each thing; 1 for anything else. NATS
// or Redis being away is none of them: the worker waits and is not ready.
func Main(b *bot.Bot, own ...provider.Sender) {
	p := workerd.Program()
	if len(own) > 0 {
		p.Check = config.Config.CheckSenders
	}
	p.Run = func(ctx context.Context, p program.Process) error {
		runner, err := New(Config{Bot: b, Logger: p.Log})
		if err != nil {
			return config.Wrong(err)
		}
		engine.LogRedis(p.Log)
		w, err := workerd.New(ctx, workerd.Config{Settings: p.Settings, Runner: runner, Senders: own, Version: p.Version, Log: p.Log})
		if err != nil {
			return err
		}
		p.Private.Watch(w.Probes())
		return w.Run(ctx)
	}
	program.Main(p)
}
