package e2e

import (
	"fmt"
	"maps"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/e2e/fleet"
)

// policy is what a bot or its settings say of flows that are not kept.
type policy struct {
	row     string            // of the table in docs/conversations.md
	env     map[string]string // of both workers
	second  string            // a setting of the second worker alone
	outcome string            // that the second worker counts, of each chat
	after   time.Duration     // which passes before anything more is said
	// next and again are as those of [handed], of the chats of [notKept], or of the
	// first one.
	next, again [][]said
}

// notKept are what happens at the first worker in chats whose flow is not kept: it waits
// for its first answer, for its second one, or its handler stands still with the first. The last
// is a live conversation, which nobody can forward.
var notKept = [][]said{
	{{"/game", "worker1: Name?"}},
	{{"/game", "worker1: Name?"}, {"Eva", "worker1: Age?"}},
	{{"/draft", "worker1: Where to stand still?"}, {"worker1", "working"}},
	{{"/sum", "worker1: 0 plus?"}, {"2", "worker1: 2 plus?"}},
}

const interrupted = "we were interrupted, please begin again"

var policies = []policy{
	{
		row:     "not set",
		outcome: "dropped",
		next:    [][]said{{{"Ana", "what is Ana?"}}, {{"8", "what is 8?"}}, {{"", "what is worker1?"}}, {{"3", "what is 3?"}}},
	}, {
		row:     "told",
		env:     map[string]string{"BOTMESH_HANDOVER_FALLBACK": "notify"},
		outcome: "notified",
		next:    [][]said{{{"Ana", interrupted}}, {{"8", interrupted}}, {{"", interrupted}}, {{"3", interrupted}}},
	}, {
		row:     "begun anew",
		env:     map[string]string{"BOTMESH_HANDOVER_FALLBACK": "restart"},
		outcome: "restarted",
		next:    [][]said{{{"Ana", "worker2: Name?"}, {"Ida", "worker2: Age?"}, {"7", "Ida is 7"}}, {{"8", "worker2: Name?"}}, {{"", "worker2: Where to stand still?"}}, {{"3", "worker2: 0 plus?"}, {"4", "worker2: 4 plus?"}}},
	}, {
		row:     "decided",
		env:     map[string]string{"TALK_DECIDES": "1"},
		outcome: "custom",
		next: [][]said{
			{{"Ana", `lost: game/name {"name":"","age":0}`}, {"", "what is Ana?"}},
			{{"8", `lost: game/age {"name":"Eva","age":0}`}},
			{{"", `lost: draft/name {"name":"","age":0}`}, {"", "what is worker1?"}},
			{{"3", `lost: sum/ null`}, {"", "what is 3?"}},
		},
	}, {
		row:     "forwarded",
		env:     map[string]string{"BOTMESH_HANDOVER_FLOWS": "forward"},
		outcome: "forwarded",
		next:    [][]said{{{"Ana", "worker2: Age?"}}, {{"8", "Eva is 8"}}, {{"", "worker2: How many?"}}},
		again:   [][]said{{{"7", "Ana is 7"}}, nil, {{"5", "5, begun by worker1"}}},
	}, {
		row:     "changed",
		env:     map[string]string{"TALK_DECIDES": "1", "TALK_FORWARDS": "1"},
		second:  "TALK_ANOTHER=1",
		outcome: "custom",
		next: [][]said{
			{{"Ana", `changed: game/name {"name":"","age":0}`}, {"", "what is Ana?"}},
			{{"8", `changed: game/age {"name":"Eva","age":0}`}},
			{{"", `changed: draft/name {"name":"","age":0}`}, {"", "what is worker1?"}},
		},
	}, {
		row:   "too late",
		env:   map[string]string{"BOTMESH_HANDOVER_FLOWS": "forward", "BOTMESH_HANDOVER_TTL": "1s"},
		after: 1200 * time.Millisecond,
		next:  [][]said{{{"Ana", "what is Ana?"}}},
	},
}

// A flow that is not kept is lost with its worker, or goes on at another one: what becomes of
// it the bot's code says, or else the settings.
//
// SPEC: H1 H6 H7 H8 H10 H11
func TestHandOverOfFlowsThatAreNotKept(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.how, func(t *testing.T) {
			t.Parallel()
			lostNotKept(t, way)
		})
	}
}

// lostNotKept loses a worker in a way under each policy, all at once: each has a bot of its
// own, and they share the servers.
func lostNotKept(t *testing.T, way way) {
	engines, err := fleet.NewEngines(fleet.EnginesConfig{Programs: programs, Dir: t.ArtifactDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engines.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := engines.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	scenes := make([]*scene, len(policies))
	for i, p := range policies {
		env := map[string]string{}
		maps.Copy(env, way.env)
		maps.Copy(env, p.env)
		scenes[i] = talkers(t, env, func(c *fleet.Config) {
			c.Engines, c.Bot, c.Dir, c.Ingress = engines, fmt.Sprint("bot", i+1), filepath.Join(c.Dir, p.row), 1
		})
		if p.second != "" {
			scenes[i].Workers[1].Once(p.second)
		}
	}
	var wg sync.WaitGroup
	errs := make([]error, len(policies))
	for i, p := range policies {
		wg.Go(func() {
			way, lose := way, way.lose
			way.lose = func(s *scene, w *fleet.Replica, standing int) error {
				err := lose(s, w, standing)
				<-time.After(p.after)
				return err
			}
			errs[i] = scenes[i].lostAndBack(way, p.chats(), min(len(p.next)-2, 1), p.outcome, p.flows())
		})
	}
	wg.Wait()
	for i, p := range policies {
		if errs[i] != nil {
			t.Errorf("%s: %v", p.row, errs[i])
		}
	}
	if t.Failed() {
		return
	}
	for i, p := range policies {
		t.Log(p.row)
		scenes[i].verify(told(p.chats()))
	}
}

// chats are the conversations of a policy.
func (p policy) chats() (all []handed) {
	for i, next := range p.next {
		h := handed{row: p.row, first: notKept[i], next: next}
		if i < len(p.again) {
			h.again = p.again[i]
		}
		all = append(all, h)
	}
	return all
}

// flows counts those that come to the second worker.
func (p policy) flows() int {
	if p.outcome == "" {
		return 0
	}
	return len(p.next)
}
