// Command worker is the worker of the lab: the one that is shipped, with the lab's
// bot, and a probe between it and its engines.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/botmesh-go/botmesh/e2e/lab/bot"
	"github.com/botmesh-go/botmesh/e2e/probe"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/program"
	"github.com/botmesh-go/botmesh/internal/workerd"
)

// think bounds how long the bot takes for a free text.
const think = 20 * time.Millisecond

func main() {
	watch, err := probe.FromEnv(probe.Worker)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(program.ExitWrong)
	}
	worker := workerd.Program()
	worker.Run = func(ctx context.Context, p program.Process) error {
		b, err := bot.New(bot.Config{Think: think, Logger: p.Log})
		if err != nil {
			return err
		}
		go watch.Watch(ctx)
		engine.LogRedis(p.Log)
		w, err := workerd.New(ctx, workerd.Config{Settings: p.Settings, Runner: b, Seams: watch.Seams(), Version: p.Version, Log: p.Log})
		if err != nil {
			return err
		}
		p.Private.Watch(w.Probes())
		return w.Run(ctx)
	}
	program.Main(worker)
}
