package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/streams"
)

// exitDiffers is what streams plan ends with if anything differs.
const exitDiffers = exit(3)

type streamsCommand struct {
	Plan  streamsPlan  `cmd:"" help:"Show what separates the streams that are there from those that the settings want. Exits with 3 if anything does, with 0 if nothing."`
	Apply streamsApply `cmd:"" help:"Make absent streams and change those that differ."`
}

type streamsPlan struct{ output }

// Run shows the differences.
func (c streamsPlan) Run(ctx context.Context, a *app) error {
	return a.withNATS(ctx, func(ctx context.Context, conn *jet.Conn, s config.Config) error {
		diff, err := streams.Plan(ctx, conn.JetStream(), engine.Streams(s))
		if err != nil {
			return err
		}
		if len(diff) == 0 {
			return c.show(a.stdout, streams.Diff{}, text("all streams are as wanted\n"))
		}
		if err := c.show(a.stdout, diff, text(diff.String())); err != nil {
			return err
		}
		return exitDiffers
	})
}

type streamsApply struct {
	output
	Force bool `help:"Raise a retention although chats that were idle for long may then answer old messages again."`
}

// Run changes the streams and shows what it made and changed.
func (c streamsApply) Run(ctx context.Context, a *app) error {
	return a.withNATS(ctx, func(ctx context.Context, conn *jet.Conn, s config.Config) error {
		var guards []streams.Guard
		if !c.Force {
			guards = append(guards, keepTombstones)
		}
		diff, err := streams.Apply(ctx, conn.JetStream(), engine.Streams(s), guards...)
		if err != nil {
			return err
		}
		if diff == nil {
			diff = streams.Diff{}
		}
		return c.show(a.stdout, diff, text(done(diff)+"all streams are as wanted now\n"))
	})
}

// done says what was made of a diff.
func done(diff streams.Diff) string {
	var b strings.Builder
	for _, c := range diff {
		if c.Absent {
			fmt.Fprintf(&b, "%s was made\n", c.Stream)
			continue
		}
		fmt.Fprintf(&b, "%s was changed\n", c.Stream)
		for _, f := range c.Fields {
			fmt.Fprintf(&b, "  %s was %s, is now %s\n", f.Name, f.Have, f.Want)
		}
	}
	return b.String()
}

// keepTombstones refuses to keep records for longer than their chats are known to
// have answered them: the workers kept that for twice the retention they ran with.
func keepTombstones(have, want jetstream.StreamConfig) error {
	return streams.KeepTombstones(2*have.MaxAge)(have, want)
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}
