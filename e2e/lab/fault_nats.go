package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/e2e/fleet"
	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
)

// streamOf picks one of the bot's streams that every message needs.
func (c *chaos) streamOf(f Fault) string {
	all := []string{journal.InboxStream(c.cfg.bot), natsstore.Stream(c.cfg.bot, 0).Name, outbox.StreamName(c.cfg.bot)}
	return all[f.Pick%uint64(len(all))]
}

// leader is a stream and the node that leads it, once all nodes are well.
func (c *chaos) leader(ctx context.Context, f Fault) (stream string, leader *fleet.Server, err error) {
	if err := c.whole(ctx); err != nil {
		return "", nil, err
	}
	stream = c.streamOf(f)
	name, err := c.awaitLeader(ctx, stream, nil)
	if err != nil {
		return "", nil, err
	}
	nodes := c.fleet.Engines.Nodes
	i := slices.IndexFunc(nodes, func(n *fleet.Server) bool { return n.Name == name })
	if i < 0 {
		return "", nil, fmt.Errorf("%s is led by %q, which is no node", stream, name)
	}
	return stream, nodes[i], nil
}

// awaitLeader waits until a stream is led by anybody but one node, and asks all
// nodes but that.
func (c *chaos) awaitLeader(ctx context.Context, stream string, but *fleet.Server) (string, error) {
	for {
		var err error
		for _, n := range c.fleet.Engines.Nodes {
			if n == but {
				continue
			}
			var name string
			if name, err = leads(ctx, n, stream); err == nil && name != "" && (but == nil || name != but.Name) {
				return name, nil
			}
		}
		if !wait(ctx, 100*time.Millisecond) {
			return "", fmt.Errorf("waiting for a leader of %s: %w", stream, errors.Join(err, ctx.Err()))
		}
	}
}

// leads asks one node who leads a stream.
func leads(ctx context.Context, node *fleet.Server, stream string) (string, error) {
	var name string
	err := on(ctx, node, func(ctx context.Context, js jetstream.JetStream) error {
		s, err := js.Stream(ctx, stream)
		if err == nil && s.CachedInfo().Cluster != nil {
			name = s.CachedInfo().Cluster.Leader
		}
		return err
	})
	return name, err
}

// patience bounds one question to a node.
const patience = 3 * time.Second

// on asks one node, whatever the others do.
func on(ctx context.Context, node *fleet.Server, ask func(context.Context, jetstream.JetStream) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	nc, err := nats.Connect("nats://"+node.Addr, nats.Timeout(patience), nats.NoReconnect())
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	return ask(ctx, js)
}

func killLeader(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
	stream, leader, err := c.leader(ctx, f)
	if err != nil {
		return "", err
	}
	begin(leader.Name)
	leader.Kill()
	next, err := c.awaitLeader(ctx, stream, leader)
	wait(ctx, f.Length)
	if err := errors.Join(err, leader.Start(ctx)); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s followed %s as leader of %s", next, leader.Name, stream), nil
}

// stepDown asks again while the same node is chosen again.
func stepDown(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
	stream, leader, err := c.leader(ctx, f)
	if err != nil {
		return "", err
	}
	begin(leader.Name)
	var next string
	err = insist(ctx, faultTime, func(ctx context.Context) error {
		asked := on(ctx, leader, func(ctx context.Context, js jetstream.JetStream) error {
			msg, err := js.Conn().RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil)
			if err == nil && !bytes.Contains(msg.Data, []byte(`"success":true`)) {
				err = fmt.Errorf("got %s", msg.Data)
			}
			return err
		})
		choosing, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		var err error
		if next, err = c.awaitLeader(choosing, stream, leader); err != nil {
			return errors.Join(asked, err)
		}
		return nil // whatever was answered
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s followed %s as leader of %s", next, leader.Name, stream), nil
}

func restartCluster(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
	if err := c.whole(ctx); err != nil {
		return "", err
	}
	at := history.Now()
	begin("nats")
	nodes := c.fleet.Engines.Nodes
	for _, n := range nodes {
		n.Kill()
	}
	wait(ctx, f.Length)
	var errs []error
	for _, n := range nodes {
		errs = append(errs, n.Start(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	return counted(c.follow.await(ctx, meetTime, at, unheard("")), "webhooks not taken"), nil
}

// whole waits until every node has all that there is. A node that came back counts
// as lost until then: with three, another one must not be lost meanwhile.
func (c *chaos) whole(ctx context.Context) error {
	for {
		var err error
		for _, n := range c.fleet.Engines.Nodes {
			err = errors.Join(err, on(ctx, n, func(ctx context.Context, js jetstream.JetStream) error {
				for _, s := range wanted(c.cfg.bot) {
					if err := copied(ctx, js, s.Name); err != nil {
						return fmt.Errorf("%s: %w", n.Name, err)
					}
				}
				return nil
			}))
		}
		if err == nil {
			return nil
		}
		if !wait(ctx, 200*time.Millisecond) {
			return fmt.Errorf("the cluster is not whole: %w", err)
		}
	}
}

// copied is nil if all nodes have all of a stream.
func copied(ctx context.Context, js jetstream.JetStream, stream string) error {
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return err
	}
	in := s.CachedInfo().Cluster
	if in == nil || in.Leader == "" || len(in.Replicas) != nodes-1 {
		return fmt.Errorf("%s has no leader or lacks nodes", stream)
	}
	for _, r := range in.Replicas {
		if !r.Current || r.Offline {
			return fmt.Errorf("%s is behind with %s", r.Name, stream)
		}
	}
	return nil
}

// deleteConsumer takes away what hands out the nudges. Who pulls makes it anew.
func deleteConsumer(ctx context.Context, c *chaos, _ Fault, begin func(string)) (string, error) {
	if err := c.whole(ctx); err != nil {
		return "", err
	}
	node := c.fleet.Engines.Nodes[0]
	stream := journal.InboxStream(c.cfg.bot)
	var before map[string]time.Time
	err := insist(ctx, faultTime, func(ctx context.Context) (err error) {
		before, err = consumers(ctx, node, stream)
		return err
	})
	if err != nil {
		return "", err
	}
	begin("nats")
	at := time.Now()
	for name, made := range before {
		err := insist(ctx, faultTime, func(ctx context.Context) error { return takeAway(ctx, node, stream, name, made) })
		if err != nil {
			return "", err
		}
	}
	for wait(ctx, 100*time.Millisecond) {
		after, err := consumers(ctx, node, stream)
		if err != nil {
			continue
		}
		for name, made := range after {
			if made.After(before[name]) {
				return fmt.Sprintf("%d deleted, made again after %v", len(before), time.Since(at).Round(100*time.Millisecond)), nil
			}
		}
	}
	return "", nil
}

// takeAway deletes a consumer that was made at a time. Asked again after no answer it
// looks first: the consumer may be gone, and one made anew stays.
func takeAway(ctx context.Context, node *fleet.Server, stream, name string, made time.Time) error {
	err := on(ctx, node, func(ctx context.Context, js jetstream.JetStream) error {
		now, err := js.Consumer(ctx, stream, name)
		if err != nil || now.CachedInfo().Created.After(made) {
			return err
		}
		return js.DeleteConsumer(ctx, stream, name)
	})
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil
	}
	return err
}

// consumers are those of a stream, each with when it was made.
func consumers(ctx context.Context, node *fleet.Server, stream string) (map[string]time.Time, error) {
	made := map[string]time.Time{}
	err := on(ctx, node, func(ctx context.Context, js jetstream.JetStream) error {
		s, err := js.Stream(ctx, stream)
		if err != nil {
			return err
		}
		list := s.ListConsumers(ctx)
		for info := range list.Info() {
			made[info.Name] = info.Created
		}
		return list.Err()
	})
	return made, err
}
