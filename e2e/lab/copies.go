package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// copyTime bounds how long nodes may take until they hold the same of a stream.
const copyTime = time.Minute

// copies compares what the nodes hold of each stream, when nobody writes any more. Where
// they differ they are read again for a while: one may be catching up.
func (s *scene) copies(ctx context.Context) (all []check.Copy, err error) {
	for _, stream := range streamsOf(s.cfg.bot) {
		var copies []check.Copy
		err := insist(ctx, copyTime, func(ctx context.Context) error {
			nodes, err := s.nodes(ctx, stream)
			if err != nil {
				return err
			}
			copies = check.Compare(stream, nodes)
			if slices.ContainsFunc(copies, func(c check.Copy) bool { return c.Differs != "" }) {
				return errors.New("the nodes differ")
			}
			return nil
		})
		if copies == nil {
			return nil, fmt.Errorf("comparing the nodes: %w", err)
		}
		all = append(all, copies...)
	}
	return all, nil
}

// nodes is what each node holds of a stream. A consumer without replicas reads what its own
// node holds, which is any: consumers are made until there was one on every node.
func (s *scene) nodes(ctx context.Context, stream string) (map[string][]check.Held, error) {
	held := map[string][]check.Held{}
	for len(held) < len(s.cfg.engines.Nodes) {
		c, err := s.conn.JetStream().CreateConsumer(ctx, stream, jetstream.ConsumerConfig{
			AckPolicy: jetstream.AckNonePolicy, Replicas: 1, MemoryStorage: true, InactiveThreshold: time.Minute,
		})
		if err != nil {
			return nil, fmt.Errorf("a reader of %s: %w", stream, err)
		}
		info := c.CachedInfo()
		node := info.Cluster.Leader
		if _, was := held[node]; !was {
			if held[node], err = readAll(ctx, c); err != nil {
				return nil, fmt.Errorf("reading %s of %s: %w", stream, node, err)
			}
		}
		if err := s.conn.JetStream().DeleteConsumer(ctx, stream, info.Name); err != nil {
			return nil, fmt.Errorf("a reader of %s: %w", stream, err)
		}
	}
	return held, nil
}

// readAll reads all that there is for a consumer when it is made.
func readAll(ctx context.Context, c jetstream.Consumer) (all []check.Held, err error) {
	const atOnce = 500
	for left := c.CachedInfo().NumPending; left > 0; {
		batch, err := c.Fetch(int(min(left, atOnce)), jetstream.FetchMaxWait(patience))
		if err != nil {
			return nil, err
		}
		n := len(all)
		for m := range batch.Messages() {
			meta, err := m.Metadata()
			if err != nil {
				return nil, err
			}
			left = meta.NumPending
			all = append(all, check.HeldOf(jet.Stored{
				Msg: jet.Msg{Subject: m.Subject(), Header: m.Headers(), Data: m.Data()}, Seq: meta.Sequence.Stream, Time: meta.Timestamp,
			}))
		}
		if err := errors.Join(batch.Error(), ctx.Err()); err != nil {
			return nil, err
		}
		if len(all) == n {
			return nil, errors.New("nothing comes")
		}
	}
	return all, nil
}
