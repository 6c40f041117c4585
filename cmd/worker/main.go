// Command worker runs the demo bot as one replica of a fleet. A bot of your own is
// a program like this one, with your bot in it.
package main

import (
	"github.com/botmesh-go/botmesh/examples/demo"
	"github.com/botmesh-go/botmesh/worker"
)

func main() { worker.Main(demo.Bot()) }
