package main

import (
	"context"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh/e2e/fleet"
	"github.com/botmesh-go/botmesh/e2e/netproxy"
)

// rule puts rules on links for the length of a fault. Its effect is what the links
// did to what passed them.
func (c *chaos) rule(ctx context.Context, f Fault, r netproxy.Rules, links ...*netproxy.Proxy) (string, error) {
	before := make([]netproxy.Stats, len(links))
	for i, l := range links {
		before[i] = l.Stats()
	}
	end := add(r, links)
	wait(ctx, f.Length)
	touched := func() (n int) {
		for i, l := range links {
			n += l.Stats().Sub(before[i]).Touched()
		}
		return n
	}
	for touched() == 0 && wait(ctx, 50*time.Millisecond) {
	}
	end()
	what := "pieces kept back"
	switch {
	case r.Cut:
		what = "connections reset"
	case r.Delay > 0:
		what = "pieces delayed"
	}
	return counted(touched(), what), nil
}

// add puts rules on links, beside those of other faults, until end is called.
func add(r netproxy.Rules, links []*netproxy.Proxy) (end func()) {
	var ends []func()
	for _, l := range links {
		ends = append(ends, l.Add(r))
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// nats are the links of a replica to the nodes.
func (c *chaos) nats(r *fleet.Replica) (links []*netproxy.Proxy) {
	for _, n := range c.fleet.Engines.Nodes {
		links = append(links, c.fleet.Link(r.Name, n.Name))
	}
	return links
}

func workerNATS(rules netproxy.Rules) injector {
	return func(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
		w := c.worker(f)
		begin(w.Name + ">nats")
		return c.rule(ctx, f, rules, c.nats(w)...)
	}
}

func workerRedis(rules netproxy.Rules) injector {
	return func(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
		w := c.worker(f)
		begin(w.Name + ">redis")
		return c.rule(ctx, f, rules, c.fleet.Link(w.Name, "redis"))
	}
}

func workerPlatform(rules netproxy.Rules) injector {
	return func(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
		w := c.worker(f)
		begin(w.Name + ">platform")
		return c.rule(ctx, f, rules, c.fleet.Link(w.Name, "platform"))
	}
}

func ingressNATS(rules netproxy.Rules) injector {
	return func(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
		r := c.ingress(f)
		begin(r.Name + ">nats")
		return c.rule(ctx, f, rules, c.nats(r)...)
	}
}

func platformIngress(rules netproxy.Rules) injector {
	return func(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
		r := c.ingress(f)
		begin("platform>" + r.Name)
		return c.rule(ctx, f, rules, c.fleet.Link("platform", r.Name))
	}
}

// isolateLeader parts a node that leads a stream from the others, both ways, while
// clients reach all of them.
func isolateLeader(ctx context.Context, c *chaos, f Fault, begin func(string)) (string, error) {
	stream, leader, err := c.leader(ctx, f)
	if err != nil {
		return "", err
	}
	begin(leader.Name)
	var links []*netproxy.Proxy
	for _, n := range c.fleet.Engines.Nodes {
		if n != leader {
			links = append(links, c.fleet.Link(leader.Name, n.Name), c.fleet.Link(n.Name, leader.Name))
		}
	}
	rules := silent
	if f.Pick%2 == 1 {
		rules = netproxy.Rules{Cut: true}
	}
	end := add(rules, links)
	next, err := c.awaitLeader(ctx, stream, leader)
	wait(ctx, f.Length)
	end()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s followed %s as leader of %s", next, leader.Name, stream), nil
}
