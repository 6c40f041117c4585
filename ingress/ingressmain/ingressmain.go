// Package ingressmain is the whole ingress program, for those who have a platform of
// their own.
//
// What belongs here: the call that a main makes. The wiring is internal, what an
// ingress does is package ingress.
package ingressmain

import (
	"context"

	"github.com/botmesh-go/botmesh/ingress"
	"github.com/botmesh-go/botmesh/internal/ingressd"
	"github.com/botmesh-go/botmesh/internal/program"
	"github.com/botmesh-go/botmesh/provider"
)

// Main is the whole ingress program: it reads its settings (flags, BOTMESH_ variables,
// a YAML file), takes webhooks until SIGTERM or SIGINT, drains, and exits. It does not
// return. own are receivers of platforms that Botmesh has none of, at
// /webhooks/<their id>, beside those that the settings know.
//
// Exit codes: 0 after a drain; 2 if the settings or the streams are wrong, with a line
// on standard error for each thing; 1 for anything else. NATS being away is none of
// them: webhooks are answered 503 until it is there.
func Main(own ...provider.Receiver) { Config{Receivers: own}.Main() }

// Config is what a program adds to the ingress. Its zero value adds nothing.
type Config struct {
	// Receivers are those of [Main].
	Receivers []provider.Receiver
	// OnRole, if set, is told when this replica comes to hold the session of a platform
	// that is asked for messages, as its leader or beside the others, and when it holds
	// it no more. Calls for one session come in order; each may take a second, and neither
	// one that takes longer nor one that panics keeps a session from being held or left.
	OnRole func(ctx context.Context, c ingress.RoleChange)
}

// Main is [Main] with what c says.
func (c Config) Main() {
	program.Main(ingressd.Program(ingressd.Config{Receivers: c.Receivers, OnRole: c.OnRole}))
}
