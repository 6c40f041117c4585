// Command ingress takes the webhooks of the platforms and journals them, as one
// replica of a fleet.
package main

import (
	"github.com/botmesh-go/botmesh/ingress/ingressmain"
)

func main() { ingressmain.Main() }
