package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/program"
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
	acting
	Force bool `help:"Raise a retention although chats that were idle for long may then answer old messages again."`
}

// Run changes the streams, which the log of acts tells, and shows what it made and
// changed.
func (c streamsApply) Run(ctx context.Context, a *app) error {
	return a.withNATS(ctx, func(ctx context.Context, conn *jet.Conn, s config.Config) error {
		diff, err := streams.Plan(ctx, conn.JetStream(), engine.Streams(s))
		if err == nil && !c.Force {
			err = diff.Check(keepTombstones)
		}
		if err != nil {
			return err
		}
		said := "all streams are as wanted now\n"
		switch {
		case diff == nil:
			diff = streams.Diff{}
		case c.DryRun:
			said = "nothing was made or changed\n"
		default:
			if err := c.apply(ctx, conn, s.Bot, diff); err != nil {
				return err
			}
		}
		return c.show(a.stdout, diff, text(told(diff, c.DryRun)+said))
	})
}

// apply logs a change of the streams and makes it. The log is one of the streams: where
// it is to be made itself, there is none before.
func (c streamsApply) apply(ctx context.Context, conn *jet.Conn, bot string, diff streams.Diff) error {
	name := acts.StreamName(bot)
	log, err := acts.NewLog(acts.Config{Stream: conn.Stream(name), Bot: bot})
	if err != nil {
		return err
	}
	write := func(act acts.Act) (acts.Act, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reachTime)
		defer cancel()
		return log.Write(ctx, act)
	}
	act := applied(diff, cmp.Or(c.As, program.Operator()))
	first := slices.ContainsFunc(diff, func(c streams.Change) bool { return c.Stream == name && c.Absent })
	if !first {
		if act, err = write(act); err != nil {
			return fmt.Errorf("nothing was made or changed: %w", err)
		}
	}
	if err = diff.Apply(ctx, conn.JetStream()); err != nil {
		act.Failed = err.Error()
	}
	if !first && err == nil {
		return nil
	}
	if _, unlogged := write(act); unlogged != nil {
		err = errors.Join(err, fmt.Errorf("what was made or changed is not in the log of acts: %w", unlogged))
	}
	return err
}

// applied is the act of changing streams: which ones, and their settings that differ.
func applied(diff streams.Diff, by string) acts.Act {
	var names []string
	before, after := map[string]map[string]string{}, map[string]map[string]string{}
	for _, c := range diff {
		names = append(names, c.Stream)
		before[c.Stream], after[c.Stream] = nil, map[string]string{}
		if !c.Absent {
			before[c.Stream] = map[string]string{}
		}
		for _, f := range c.Fields {
			before[c.Stream][f.Name], after[c.Stream][f.Name] = f.Have, f.Want
		}
	}
	act := acts.Act{By: by, Verb: "streams apply", Of: strings.Join(names, " ")}
	act.Before, _ = json.Marshal(before) // maps of strings can be
	act.After, _ = json.Marshal(after)
	return act
}

// told says what was made of a diff, or would be.
func told(diff streams.Diff, dry bool) string {
	did, have, now := "was", "was", "is now"
	if dry {
		did, have, now = "would be", "is", "would be"
	}
	var b strings.Builder
	for _, c := range diff {
		if c.Absent {
			fmt.Fprintf(&b, "%s %s made\n", c.Stream, did)
			continue
		}
		fmt.Fprintf(&b, "%s %s changed\n", c.Stream, did)
		for _, f := range c.Fields {
			fmt.Fprintf(&b, "  %s %s %s, %s %s\n", f.Name, have, f.Have, now, f.Want)
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
