// Command talker is the worker whose bot package talk has.
package main

import (
	"os"

	"github.com/botmesh-go/botmesh/e2e/talk"
	"github.com/botmesh-go/botmesh/worker"
)

func main() { worker.Main(talk.Bot(os.Getenv("BOTMESH_REPLICA_ID"))) }
