package jet_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
)

// Each round is a stream of its own with all its faults.
var faultsFor = flag.Duration("faults", 0, "go on with the rounds of the fault tests for that long, instead of one each")

// What checkpoints, chains and the journal rest on, while leaders move, die and
// freeze: one write wins per revision, nothing that was acknowledged is lost, and a
// publish that is repeated under its id is stored once.
//
// SPEC: J2 C1. DESIGN: I3. HOLE: H28.
func TestAClusterKeepsItsWordUnderFaults(t *testing.T) { // alone: it loads the machine
	g := natstest.Cluster(t, 3)
	rounds(t, func(name string) {
		r := newRound(t, g.URL(), name, 3)
		r.begin()
		for _, do := range []func(*natstest.Group){r.stepDown, r.kill, r.stepDown, r.freeze, r.stepDown} {
			r.progress()
			do(g)
		}
		r.progress()
		r.end()
		r.repeat()
		r.leader(g)
		for _, n := range g.Nodes {
			r.judge(n)
		}
	})
}

// A single server is killed and comes back with what it confirmed.
//
// SPEC: J2 C1. DESIGN: I3.
func TestAServerKeepsItsWordWhenKilled(t *testing.T) { // alone: it loads the machine
	n := natstest.Process(t)
	rounds(t, func(name string) {
		r := newRound(t, n.URL, name, 1)
		r.begin()
		for range 4 {
			r.progress()
			n.Kill()
			n.Start(t)
		}
		r.progress()
		r.end()
		r.repeat()
		r.judge(n)
	})
}

// rounds runs one round, or as many as fit into the time asked for.
func rounds(t *testing.T, round func(name string)) {
	began := time.Now()
	for n := 1; n == 1 || time.Since(began) < *faultsFor; n++ {
		round(fmt.Sprintf("R%d", n))
	}
}

// round is one stream, its writers and what they saw.
type round struct {
	t     *testing.T
	url   string
	name  string
	admin *jet.Conn
	stop  context.CancelFunc
	ctx   context.Context
	began time.Time
	group sync.WaitGroup
	acks  [2]atomic.Int64 // of compare-and-sets, of publishes by id

	mu      sync.Mutex
	writes  []write
	reads   []write
	acked   map[string]uint64 // by id
	retried int               // publishes that were repeated for want of an answer
	known   int               // of those, the ones that had been stored
}

func newRound(t *testing.T, url, name string, replicas int) *round {
	r := &round{t: t, url: url, name: name, admin: dial(t, url), began: time.Now(), acked: map[string]uint64{}}
	_, err := r.admin.JetStream().CreateStream(t.Context(), jetstream.StreamConfig{
		Name: name, Subjects: []string{name + ".>"}, Replicas: replicas, Duplicates: 10 * time.Minute, AllowDirect: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.ctx, r.stop = context.WithCancel(t.Context())
	t.Cleanup(r.stop)
	return r
}

// begin starts the writers, each on a connection of its own as replicas are: those
// that replace a subject's last message, and those that publish by id.
func (r *round) begin() {
	for n := range 4 {
		s := r.dial()
		r.group.Go(func() { r.replace(s, n) })
	}
	for n := range 2 {
		s := r.dial()
		r.group.Go(func() { r.publish(s, n) })
	}
}

func (r *round) dial() jet.Stream {
	c, err := jet.Dial(r.t.Context(), jet.Config{URL: r.url, Timeout: time.Second})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	return c.Stream(r.name)
}

func (r *round) since() time.Duration { return time.Since(r.began) }

// replace races with the others to replace the last message of two subjects.
func (r *round) replace(s jet.Stream, writer int) {
	for n := 0; r.ctx.Err() == nil; n++ {
		subject := fmt.Sprintf("%s.cas.%d", r.name, n%2)
		read := write{subject: subject, called: r.since()}
		last, err := s.Last(r.ctx, subject)
		if err != nil && !errors.Is(err, botmesh.ErrNotFound) {
			r.pause()
			continue
		}
		read.seq = last.Seq
		w := write{subject: subject, id: fmt.Sprintf("%d-%d", writer, n), expect: last.Seq, called: r.since()}
		ack, err := s.Publish(r.ctx, jet.Publish{
			Msg:    jet.Msg{Subject: subject, Header: nats.Header{idHeader: {w.id}}},
			Expect: &w.expect,
		})
		w.answered, w.seq, w.err = r.since(), ack.Seq, err
		r.mu.Lock()
		r.reads, r.writes = append(r.reads, read), append(r.writes, w)
		r.mu.Unlock()
		switch {
		case err == nil:
			r.acks[0].Add(1)
		case !errors.Is(err, botmesh.ErrConflict):
			r.pause()
		}
	}
}

// publish stores messages, each repeated under its id until it is acknowledged.
func (r *round) publish(s jet.Stream, writer int) {
	for n := 0; r.ctx.Err() == nil; n++ {
		id := fmt.Sprintf("%s-%d-%d", r.name, writer, n)
		for again := false; r.ctx.Err() == nil; again = true {
			ack, err := s.Publish(r.ctx, r.byID(id))
			if err != nil {
				r.pause()
				continue
			}
			r.mu.Lock()
			r.acked[id] = ack.Seq
			if again {
				r.retried++
			}
			if again && ack.Duplicate {
				r.known++
			}
			r.mu.Unlock()
			r.acks[1].Add(1)
			r.pause() // there is to be something to read, not a load
			break
		}
	}
}

func (r *round) byID(id string) jet.Publish {
	return jet.Publish{Msg: jet.Msg{Subject: r.name + ".id", Header: nats.Header{nats.MsgIdHdr: {id}, idHeader: {id}}}}
}

// repeat publishes everything once more, as if no answer had ever come. By now
// another node leads: it must know the ids too.
func (r *round) repeat() {
	r.t.Helper()
	s := r.admin.Stream(r.name)
	for id, seq := range r.acked {
		natstest.Until(r.t, "a repeated publish to be answered", func() bool {
			ack, err := s.Publish(r.t.Context(), r.byID(id))
			if err == nil && (!ack.Duplicate || ack.Seq != seq) {
				r.t.Errorf("%s published again: got %+v, want a duplicate of %d", id, ack, seq)
			}
			return err == nil
		})
	}
}

// pause is a moment for a server that does not answer.
func (r *round) pause() {
	select {
	case <-time.After(10 * time.Millisecond):
	case <-r.ctx.Done():
	}
}

// progress waits until writes of both kinds are acknowledged again.
func (r *round) progress() {
	r.t.Helper()
	const some = 40
	for kind := range r.acks {
		before := r.acks[kind].Load()
		natstest.Until(r.t, "writes to go on", func() bool { return r.acks[kind].Load() >= before+some })
	}
}

// leader is the node that leads the stream, once all its nodes have caught up: else
// the next fault would take the majority away.
func (r *round) leader(g *natstest.Group) (node *natstest.Node) {
	r.t.Helper()
	natstest.Until(r.t, "the stream to be led and its replicas to be current", func() bool {
		s, err := r.admin.JetStream().Stream(r.t.Context(), r.name)
		if err != nil {
			return false
		}
		c := s.CachedInfo().Cluster
		if c == nil || c.Leader == "" || len(c.Replicas) < len(g.Nodes)-1 {
			return false
		}
		for _, peer := range c.Replicas {
			if !peer.Current || peer.Offline {
				return false
			}
		}
		node = g.Node(r.t, c.Leader)
		return true
	})
	return node
}

func (r *round) stepDown(g *natstest.Group) {
	r.t.Helper()
	r.leader(g)
	natstest.Until(r.t, "the leader to step down", func() bool {
		answer, err := r.admin.NATS().Request("$JS.API.STREAM.LEADER.STEPDOWN."+r.name, nil, 2*time.Second)
		return err == nil && strings.Contains(string(answer.Data), `"success":true`)
	})
}

func (r *round) kill(g *natstest.Group) {
	r.t.Helper()
	n := r.leader(g)
	n.Kill()
	r.progress() // without it
	n.Start(r.t)
}

// freeze stops the leader until another one has taken its place. Thawed, it still
// takes itself for the leader for a moment.
func (r *round) freeze(g *natstest.Group) {
	r.t.Helper()
	n := r.leader(g)
	n.Stop()
	defer n.Cont()
	r.progress()
}

// end stops the writers and says what they saw. A round in which nothing went wrong
// proves nothing.
func (r *round) end() {
	r.t.Helper()
	r.stop()
	r.group.Wait()
	count := map[string]int{}
	for _, w := range r.writes {
		switch {
		case w.err == nil:
			count["won"]++
		case errors.Is(w.err, botmesh.ErrConflict):
			count["in conflict"]++
		case errors.Is(w.err, botmesh.ErrRefused):
			count["refused"]++
		case errors.Is(w.err, botmesh.ErrUnknown):
			count["unknown"]++
		default:
			r.t.Errorf("%s: got %v", w.id, w.err)
		}
	}
	r.t.Logf("%s in %v: compare-and-sets %v, %d of %d reads stale; %d ids, %d publishes repeated, %d of those had been stored", r.name,
		r.since().Round(time.Millisecond), count, stale(r.reads, r.writes), len(r.reads), len(r.acked), r.retried, r.known)
	if count["in conflict"] == 0 || count["unknown"] == 0 || r.retried == 0 {
		r.t.Error("got no conflict, no unknown outcome or no repeated publish: this round proves nothing")
	}
}

// judge checks the round against the stream as a node has it: a direct read is
// answered by the server that the client is connected to.
func (r *round) judge(n *natstest.Node) {
	r.t.Helper()
	s := dial(r.t, n.URL).Stream(r.name)
	deadline := time.Now().Add(20 * time.Second)
	for {
		err := r.verdict(s)
		switch {
		case err == nil:
			return
		case time.Now().After(deadline):
			r.t.Errorf("as %s has it: %v", n.Name, err)
			return
		}
		<-time.After(100 * time.Millisecond) // it may still catch up
	}
}

func (r *round) verdict(s jet.Stream) error {
	var replaced []jet.Stored
	for n := range 2 {
		some, err := all(r.t.Context(), s, fmt.Sprintf("%s.cas.%d", r.name, n))
		if err != nil {
			return err
		}
		replaced = append(replaced, some...)
	}
	published, err := all(r.t.Context(), s, r.name+".id")
	if err != nil {
		return err
	}
	return errors.Join(judgeWrites(r.writes, replaced), judgeIDs(r.acked, published))
}

// all is what the stream holds of a subject.
func all(ctx context.Context, s jet.Stream, subject string) (all []jet.Stored, err error) {
	for from := uint64(1); ; from = all[len(all)-1].Seq + 1 {
		some, err := s.Range(ctx, subject, from, 256)
		if all = append(all, some...); err != nil || len(some) == 0 {
			return all, err
		}
	}
}
