// Command talker is the worker whose bot package talk has.
package main

import (
	"os"
	"time"

	"github.com/botmesh-go/botmesh/e2e/talk"
	"github.com/botmesh-go/botmesh/worker"
)

func main() {
	patience, _ := time.ParseDuration(os.Getenv("TALK_PATIENCE"))
	worker.Main(talk.Bot(talk.Config{
		Replica:  os.Getenv("BOTMESH_REPLICA_ID"),
		Patience: patience,
		Decides:  os.Getenv("TALK_DECIDES") == "1",
		Forwards: os.Getenv("TALK_FORWARDS") == "1",
		Another:  os.Getenv("TALK_ANOTHER") == "1",
		Later:    os.Getenv("TALK_LATER") == "1",
	}))
}
