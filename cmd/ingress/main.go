// Command ingress takes the webhooks of the platforms and journals them, as one
// replica of a fleet.
package main

import (
	"github.com/botmesh-go/botmesh/internal/ingressd"
	"github.com/botmesh-go/botmesh/internal/program"
)

func main() { program.Main(ingressd.Program()) }
