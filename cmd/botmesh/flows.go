package main

import (
	"errors"

	"github.com/botmesh-go/botmesh/internal/config"
)

// flowsCommand is a verb of the programs that have a bot: this one knows the flows of none.
type flowsCommand struct {
	output
	Args []string `arg:"" optional:"" hidden:""`
}

// flowsHow says which program does it.
const flowsHow = "the flows of a bot are in its own program: go run ./cmd/mybot flows lock [file] writes down what chats that wait depend on, " +
	"and flows diff [file] says in CI what a build does to them. The demo bot's program is cmd/worker"

// Run says which program does it, and fails where it was to be done.
func (c flowsCommand) Run(a *app) error {
	if len(c.Args) > 0 {
		return config.Wrong(errors.New(flowsHow))
	}
	return c.show(a.stdout, map[string]string{"how": flowsHow}, text(flowsHow+"\n"))
}
