package main

import (
	"context"
	"io"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/streams"
)

type streamsCommand struct {
	Plan  streamsPlan  `cmd:"" help:"Show what separates the streams that are there from those that the settings want."`
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
		return c.show(a.stdout, diff, text(diff, "all streams are as wanted\n"))
	})
}

type streamsApply struct {
	Force bool `help:"Raise a retention although chats that were idle for long may then answer old messages again."`
}

// Run changes the streams and shows what differed.
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
		if err := text(diff, "")(a.stdout); err != nil {
			return err
		}
		_, err = io.WriteString(a.stdout, "all streams are as wanted now\n")
		return err
	})
}

// keepTombstones refuses to keep records for longer than their chats are known to
// have answered them: the workers kept that for twice the retention they ran with.
func keepTombstones(have, want jetstream.StreamConfig) error {
	return streams.KeepTombstones(2*have.MaxAge)(have, want)
}

func text(diff streams.Diff, none string) func(io.Writer) error {
	return func(w io.Writer) error {
		if len(diff) > 0 {
			none = diff.String()
		}
		_, err := io.WriteString(w, none)
		return err
	}
}
