package main

import (
	"github.com/botmesh-go/botmesh/examples/demo"
	"github.com/botmesh-go/botmesh/internal/devd"
	"github.com/botmesh-go/botmesh/internal/program"
)

type devCommand struct {
	Dir string `default:".botmesh" help:"Where everything is kept."`
}

// Run serves until Ctrl-C.
func (c devCommand) Run(a *app) error {
	p := devd.Program(devd.Config{Bot: demo.Bot(), Whom: "the demo bot", Dir: c.Dir})
	loaded, err := a.settings(p.Defaults)
	if err != nil {
		return err
	}
	return p.Serve(loaded.Config, a.environ, program.Logger(a.stderr, loaded.Log))
}
