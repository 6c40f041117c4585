// Command ingress is the ingress of the lab: the one that is shipped, with a probe
// between it and its journal.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/botmesh-go/botmesh/e2e/probe"
	"github.com/botmesh-go/botmesh/internal/ingressd"
	"github.com/botmesh-go/botmesh/internal/program"
)

func main() {
	watch, err := probe.FromEnv(probe.Ingress)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(program.ExitWrong)
	}
	ingress := ingressd.Program(ingressd.Config{})
	ingress.Run = func(ctx context.Context, p program.Process) error {
		go watch.Watch(ctx)
		in, err := ingressd.New(ctx, ingressd.Config{Settings: p.Settings, Seam: watch.Stream, Version: p.Version, Log: p.Log})
		if err != nil {
			return err
		}
		p.Private.Watch(in.Probes())
		return in.Run(ctx)
	}
	program.Main(ingress)
}
