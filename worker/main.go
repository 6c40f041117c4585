package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

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
// With "flows lock [file]" as arguments it serves nothing: it writes what chats that wait
// in the bot's flows depend on, see [bot.Bot.Lock], into a file that is kept beside the code.
// "flows diff [file]" compares the flows with it, for continuous integration: 1 as exit
// code says that a change strands chats that wait. The file defaults to flows.lock.
//
// With "replay provider/chat" as arguments, and settings like the program's, it runs the
// chat's records again and shows what the bot would say now, between "--from" and "--to" as
// sequences, "--since" and "--until" as times; nothing is sent or written. With "replay
// --against" and any number of chats, by default the 100 that wrote last, it compares what they
// were answered with what the bot would say now, and shows those where that differs: 1 as exit
// code says that one does, 2 that it could not be found out.
// With "rebuild provider/chat" as arguments, and settings like the program's, it writes that
// chat's lost checkpoint anew from the chat's records and sends nothing; "--dry-run" says what
// it would do. It refuses a chat that has a checkpoint.
//
// Exit codes: 0 after a drain; 2 if the settings, the bot or the streams are
// wrong, with a line on standard error for each thing; 1 for anything else. NATS
// or Redis being away is none of them: the worker waits and is not ready.
func Main(b *bot.Bot, own ...provider.Sender) {
	p := workerd.Program()
	p.Usage = []string{"flows lock|diff [file]", replayWay, againstWay, rebuildWay}
	if len(own) > 0 {
		p.Check = config.Config.CheckSenders
	}
	if do := command(os.Args[1:], p, b, own); do != nil {
		os.Exit(program.Report(os.Stderr, program.Called(), do(os.Args[2:])))
	}
	p.Run = func(ctx context.Context, p program.Process) error {
		runner, err := New(Config{Bot: b, Handover: handover(p.Settings.Handover), StaleAfter: p.Settings.StaleAfter, Logger: p.Log})
		if err != nil {
			return config.Wrong(err)
		}
		engine.LogRedis(p.Log)
		w, err := workerd.New(ctx, workerd.Config{Settings: p.Settings, Runner: runner, Senders: own, Version: p.Version, Log: p.Log})
		if err != nil {
			return err
		}
		p.Private.Watch(w.Probes())
		return errors.Join(w.Run(ctx), runner.Close())
	}
	program.Main(p)
}

// command is what the arguments ask for in place of serving chats; nil if that is to serve,
// or to be shown what there is.
func command(args []string, p program.Program, b *bot.Bot, own []provider.Sender) func(args []string) error {
	if len(args) == 0 || slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		return nil
	}
	again := replays{p, b, own, os.Stdout}
	return map[string]func([]string) error{
		"flows": func(args []string) error {
			told, err := flows(b, args)
			fmt.Print(told)
			return err
		},
		"replay":  again.replay,
		"rebuild": again.rebuild,
	}[args[0]]
}

// handover is what a deployment says of flows that are not kept.
func handover(s config.Handover) bot.Handover {
	return bot.Handover{
		Forward: s.Flows == "forward", TTL: s.TTL,
		Lost: map[string]bot.LostPolicy{"notify": bot.Notify, "restart": bot.Restart}[s.Fallback],
	}
}
