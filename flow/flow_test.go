package flow_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
)

// trip is the state of the flows in these tests.
type trip struct {
	To   string `json:"to"`
	Days int    `json:"days"`
}

const (
	askTo   flow.Step[trip] = "to"
	askDays flow.Step[trip] = "days"
	askSure flow.Step[trip] = "sure"
)

type size string

func end[T any](c *flow.C[trip], _ T) flow.Next { return c.End() }

func TestAValidFlow(t *testing.T) {
	t.Parallel()
	f := flow.New[trip]("trip", flow.Trigger("/trip", "travel"))
	flow.Ask(f, askTo, ask.Text(), "Where to?", end[string], flow.To(askDays))
	flow.Ask(f, askDays, ask.Int(), "How long?", end[int], flow.To(askTo, askDays))
	if err := f.Validate(); err != nil {
		t.Errorf("got error %v, want none", err)
	}
	if got := f.Name(); got != "trip" {
		t.Errorf("Name: got %q, want trip", got)
	}
	if got := strings.Join(f.Triggers(), " "); got != "/trip travel" {
		t.Errorf("Triggers: got %q, want /trip travel", got)
	}
}

func TestFaultsOfAFlowAreToldTogether(t *testing.T) {
	t.Parallel()
	f := flow.New[trip]("A Trip")
	flow.Ask(f, askTo, ask.Text().Len(9, 3), "", end[string], flow.To(askDays, askSure))
	flow.Ask(f, askTo, ask.Text(), "Where to?", end[string])
	flow.Ask(f, "", ask.Int(), "?", end[int])
	flow.Ask(f, askDays, ask.Choice(size(strings.Repeat("x", 49))), "Which?", end[size])
	f.OnCancel(func(c *flow.C[trip]) flow.Next { return c.End() })
	f.OnCancel(func(c *flow.C[trip]) flow.Next { return c.End() })
	err := f.Validate()
	if err == nil {
		t.Fatal("got no error, want one")
	}
	for _, want := range []string{
		"flow A Trip: the name does not match",
		`step "to": ask: no text has 9 to 3 characters`,
		`step "to" has no prompt`,
		`step "to" goes to "sure", which is not a step`,
		`step "to" is added twice`,
		"a step has no name",
		`step "days": button "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" carries 49 bytes, want at most 48`,
		"OnCancel is set twice",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
	if strings.Contains(err.Error(), `goes to "days"`) {
		t.Errorf("got error %v, want nothing about a way to days", err)
	}
}

// SPEC: H6.
func TestStateThatCanNotBeKeptIsRefused(t *testing.T) {
	t.Parallel()
	f := flow.New[struct{ Photo func() }]("photo")
	flow.Ask(f, "a", ask.Text(), "?", func(c *flow.C[struct{ Photo func() }], _ string) flow.Next { return c.End() })
	if err := f.Validate(); err == nil || !strings.Contains(err.Error(), ".Photo is of kind func") {
		t.Errorf("got error %v, want the field's name in it", err)
	}
	g := flow.New[int]("number")
	flow.Ask(g, "a", ask.Text(), "?", func(c *flow.C[int], _ string) flow.Next { return c.End() })
	if err := g.Validate(); err == nil || !strings.Contains(err.Error(), "want a struct") {
		t.Errorf("got error %v, want it to ask for a struct", err)
	}
}

func TestAFlowWithoutSteps(t *testing.T) {
	t.Parallel()
	f := flow.New[trip]("trip")
	if err := f.Validate(); err == nil || !strings.Contains(err.Error(), "has no steps") {
		t.Errorf("got error %v, want one", err)
	}
}

var errBroken = errors.New("broken")
