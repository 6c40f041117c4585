package main

import (
	"errors"

	"github.com/botmesh-go/botmesh/internal/config"
)

// flowsCommand is a verb of the programs that have a bot: this one knows the flows of none.
type flowsCommand struct {
	Args []string `arg:"" optional:"" hidden:""`
}

// errFlows says which program does it.
var errFlows = errors.New("the flows of a bot are in its own program: go run ./cmd/mybot flows lock [file] writes down what chats that wait depend on, " +
	"and flows diff [file] says in CI what a build does to them. The demo bot's program is cmd/worker")

// Run says which program does what was asked for.
func (flowsCommand) Run() error { return config.Wrong(errFlows) }
