package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
)

// wrote is a turn in which the user wrote a text, as record seq.
func wrote(t *testing.T, seq uint64, text string) *flow.Turn {
	t.Helper()
	return turn(t, botmesh.Record{Seq: seq, Type: botmesh.TypeMessage, Message: botmesh.Message{Text: text}})
}

// pressed is a turn in which the user pressed a button, as record seq.
func pressed(t *testing.T, seq uint64, payload string) *flow.Turn {
	t.Helper()
	return turn(t, botmesh.Record{Seq: seq, Type: botmesh.TypeCallback, Message: botmesh.Message{Text: "the bot's own words", Payload: payload}})
}

func turn(t *testing.T, r botmesh.Record) *flow.Turn {
	t.Helper()
	return flow.NewTurn(t.Context(), botmesh.Run{Record: r, Try: 1}, nil)
}

// said checks what a turn says, and returns the last message.
func said(t *testing.T, tr *flow.Turn, want ...string) botmesh.Send {
	t.Helper()
	var got []string
	var last botmesh.Send
	for _, s := range tr.Sends() {
		got, last = append(got, s.Text), s
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what was said (-want +got):\n%s", diff)
	}
	return last
}

// at checks where a conversation stands.
func at(t *testing.T, p *flow.Position, err error, step flow.Step[trip], want trip) flow.Position {
	t.Helper()
	if err != nil || p == nil {
		t.Fatalf("got position %v, error %v, want step %q", p, err, step)
	}
	var got trip
	if err := json.Unmarshal(p.State, &got); err != nil {
		t.Fatal(err)
	}
	if p.Step != string(step) || got != want {
		t.Fatalf("got step %q with %+v, want %q with %+v", p.Step, got, step, want)
	}
	return *p
}

// tripFlow asks where to and how long, and sometimes whether that is sure.
func tripFlow() *flow.Flow[trip] {
	f := flow.New[trip]("trip", flow.Trigger("/trip"))
	flow.Ask(f, askTo, ask.Text(), "Where to?", func(c *flow.C[trip], to string) flow.Next {
		c.State.To = to
		switch to {
		case "nowhere":
			return c.Reject("That is not a place.")
		case "down":
			c.Say("never said")
			return c.Fail(errBroken)
		case "forgotten":
			return flow.Next{}
		case "lost":
			return c.Goto("no-such-step")
		}
		c.Sayf("%s is nice.", to)
		return c.Goto(askDays)
	})
	flow.Ask(f, askDays, ask.Int().Range(1, 30), func(s trip) string { return "How long in " + s.To + "?" },
		func(c *flow.C[trip], days int) flow.Next {
			c.State.Days = days
			if days > 20 {
				return c.Goto(askSure)
			}
			c.Sayf("%d days in %s", c.State.Days, c.State.To)
			return c.End()
		})
	flow.Ask(f, askSure, ask.Confirm(), "Are you sure?", func(c *flow.C[trip], yes bool) flow.Next {
		if !yes {
			return c.Goto(askDays)
		}
		return c.End()
	}, flow.Hint("Yes or no?"))
	return f
}

// SPEC: H2 H3. Each wait is a position, and the next message is its answer.
func TestAConversation(t *testing.T) {
	t.Parallel()
	f := tripFlow()

	tr := wrote(t, 1, "/trip")
	p, err := f.Start(tr)
	pos := at(t, p, err, askTo, trip{})
	said(t, tr, "Where to?")

	tr = wrote(t, 2, "  Rome ")
	p, err = f.Answer(tr, pos)
	pos = at(t, p, err, askDays, trip{To: "Rome"})
	said(t, tr, "Rome is nice.", "How long in Rome?")

	tr = wrote(t, 3, "long")
	p, err = f.Answer(tr, pos)
	pos = at(t, p, err, askDays, trip{To: "Rome"})
	said(t, tr, "Please send a whole number from 1 to 30.\nHow long in Rome?")

	tr = wrote(t, 4, "14")
	p, err = f.Answer(tr, pos)
	if p != nil || err != nil {
		t.Errorf("at the end: got %v, %v, want no position", p, err)
	}
	said(t, tr, "14 days in Rome")
}

func TestARejectedAnswerChangesNothing(t *testing.T) {
	t.Parallel()
	f := tripFlow()
	p, err := f.Start(wrote(t, 1, "/trip"))
	pos := at(t, p, err, askTo, trip{})
	tr := wrote(t, 2, "nowhere")
	p, err = f.Answer(tr, pos)
	at(t, p, err, askTo, trip{})
	said(t, tr, "That is not a place.\nWhere to?")
}

// Nor does the question that is asked again show what the handler made of the state.
func TestARejectedAnswersQuestionIsAsItWas(t *testing.T) {
	t.Parallel()
	f := flow.New[trip]("trip")
	flow.Ask(f, askTo, ask.Text(), func(s trip) string { return "Where to, after " + s.To + "?" }, func(c *flow.C[trip], to string) flow.Next {
		c.State.To = to
		return c.Reject("Too far.")
	})
	p, err := f.Start(wrote(t, 1, "/trip"))
	tr := wrote(t, 2, "Mars")
	p, err = f.Answer(tr, at(t, p, err, askTo, trip{}))
	at(t, p, err, askTo, trip{})
	said(t, tr, "Too far.\nWhere to, after ?")
}

func TestHandlersThatFail(t *testing.T) {
	t.Parallel()
	f := tripFlow()
	p, err := f.Start(wrote(t, 1, "/trip"))
	pos := at(t, p, err, askTo, trip{})
	for answer, want := range map[string]string{
		"down":      `flow trip at step "to": broken`,
		"forgotten": `flow trip at step "to": the handler returned no way on`,
		"lost":      `flow trip at step "to": goto "no-such-step", which is not a step`,
	} {
		p, err := f.Answer(wrote(t, 2, answer), pos)
		if p != nil || err == nil || err.Error() != want {
			t.Errorf("%s: got %v, error %v, want %q", answer, p, err, want)
		}
	}
	if _, err := f.Answer(wrote(t, 2, "down"), pos); !errors.Is(err, errBroken) {
		t.Errorf("got error %v, want the handler's own in it", err)
	}
}

// sure leads to the step with buttons, as record 3.
func sure(t *testing.T, f *flow.Flow[trip]) (flow.Position, botmesh.Send) {
	t.Helper()
	p, err := f.Start(wrote(t, 1, "/trip"))
	pos := at(t, p, err, askTo, trip{})
	p, err = f.Answer(wrote(t, 2, "Rome"), pos)
	pos = at(t, p, err, askDays, trip{To: "Rome"})
	tr := wrote(t, 3, "25")
	p, err = f.Answer(tr, pos)
	pos = at(t, p, err, askSure, trip{To: "Rome", Days: 25})
	return pos, said(t, tr, "Are you sure?")
}

func TestAButtonAnswersItsQuestion(t *testing.T) {
	t.Parallel()
	f := tripFlow()
	pos, asked := sure(t, f)
	want := [][]botmesh.Button{{{Label: "Yes", Payload: "~3:yes"}, {Label: "No", Payload: "~3:no"}}}
	if diff := cmp.Diff(want, asked.Buttons); diff != "" {
		t.Fatalf("buttons (-want +got):\n%s", diff)
	}

	tr := pressed(t, 4, asked.Buttons[0][1].Payload)
	p, err := f.Answer(tr, pos)
	at(t, p, err, askDays, trip{To: "Rome", Days: 25})

	p, err = f.Answer(pressed(t, 4, "yes"), pos)
	if p != nil || err != nil {
		t.Errorf("a payload without a mark: got %v, %v, want it taken as it is", p, err)
	}

	first, err := f.Start(wrote(t, 5, "/trip"))
	open := at(t, first, err, askTo, trip{})
	tr = pressed(t, 6, "Rome")
	p, err = f.Answer(tr, open)
	at(t, p, err, askTo, trip{})
	said(t, tr, "Please write a text.\nWhere to?") // the text of a press is the bot's

	tr = pressed(t, 4, "~3:perhaps")
	p, err = f.Answer(tr, pos)
	at(t, p, err, askSure, trip{To: "Rome", Days: 25})
	again := said(t, tr, "Yes or no?\nAre you sure?")
	if diff := cmp.Diff(want, again.Buttons); diff != "" {
		t.Errorf("asked again, the buttons are not those of the same question (-want +got):\n%s", diff)
	}
}

func TestButtonsGoStale(t *testing.T) {
	t.Parallel()
	pos, asked := sure(t, tripFlow())
	press := func(payload string) botmesh.Record {
		return botmesh.Record{Type: botmesh.TypeCallback, Message: botmesh.Message{Payload: payload}}
	}
	yes := asked.Buttons[0][0].Payload
	for _, tt := range []struct {
		name string
		at   *flow.Position
		r    botmesh.Record
		want bool
	}{
		{"of the open question", &pos, press(yes), false},
		{"of an earlier question", &pos, press("~2:yes"), true},
		{"while nothing waits", nil, press(yes), true},
		{"of the author's own", nil, press("yes"), false},
		{"with a mark that is none", nil, press("~!:yes"), false},
		{"with half a mark", nil, press("~2"), false},
		{"written by hand", nil, botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Text: yes, Payload: yes}}, false},
	} {
		if got := tt.at.Stale(tt.r); got != tt.want {
			t.Errorf("a button %s: got stale %t, want %t", tt.name, got, tt.want)
		}
	}
}

// DESIGN §7: a step that is gone, and a state that can not be read, are told and
// nothing is lost.
func TestStranded(t *testing.T) {
	t.Parallel()
	f := tripFlow()
	f.OnCancel(func(c *flow.C[trip]) flow.Next { return c.End() })
	for name, pos := range map[string]flow.Position{
		"step gone":        {Flow: "trip", Step: "old", State: json.RawMessage(`{}`)},
		"state unreadable": {Flow: "trip", Step: "days", State: json.RawMessage(`{"days":"many"}`)},
		"no state":         {Flow: "trip", Step: "days"},
	} {
		for verb, do := range map[string]func(*flow.Turn, flow.Position) (*flow.Position, error){
			"Answer":   f.Answer,
			"Cancel":   f.Cancel,
			"AskAgain": func(tr *flow.Turn, p flow.Position) (*flow.Position, error) { return f.AskAgain(tr, p, "") },
		} {
			p, err := do(wrote(t, 9, "3"), pos)
			if p != nil || !errors.Is(err, flow.ErrStranded) || !strings.Contains(err.Error(), "flow trip") {
				t.Errorf("%s, %s: got %v, %v, want ErrStranded with the flow's name", name, verb, p, err)
			}
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	f := tripFlow()
	pos, _ := sure(t, f)
	tr := wrote(t, 4, "/cancel")
	if p, err := f.Cancel(tr, pos); p != nil || err != nil {
		t.Errorf("without OnCancel: got %v, %v, want the end", p, err)
	}
	said(t, tr)

	f.OnCancel(func(c *flow.C[trip]) flow.Next {
		switch c.State.Days {
		case 25:
			return c.Reject("Too late.")
		case 1:
			return c.Goto(askTo)
		}
		c.Say("Bye.")
		return c.End()
	})
	tr = wrote(t, 5, "/cancel")
	p, err := f.Cancel(tr, pos)
	at(t, p, err, askSure, trip{To: "Rome", Days: 25})
	said(t, tr, "Too late.\nAre you sure?")

	pos.State = json.RawMessage(`{"days":1}`)
	tr = wrote(t, 6, "/cancel")
	p, err = f.Cancel(tr, pos)
	at(t, p, err, askTo, trip{Days: 1})
	said(t, tr, "Where to?")

	pos.State = json.RawMessage(`{"days":2}`)
	tr = wrote(t, 7, "/cancel")
	if p, err := f.Cancel(tr, pos); p != nil || err != nil {
		t.Errorf("an OnCancel that ends: got %v, %v, want the end", p, err)
	}
	said(t, tr, "Bye.")
}

// eager records what is sent at once.
type eager struct{ sent []botmesh.Send }

func (e *eager) SendNow(_ context.Context, s botmesh.Send) error {
	e.sent = append(e.sent, s)
	return nil
}
func (e *eager) Keep(context.Context, []byte) error                       { return errBroken }
func (e *eager) User(context.Context) (map[string]json.RawMessage, error) { return nil, errBroken }

// SPEC: T4. What is sent after the run was stopped goes nowhere.
func TestSendNow(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancelCause(t.Context())
	e := &eager{}
	tr := flow.NewTurn(ctx, botmesh.Run{}, e)
	if err := tr.SendNow(botmesh.Send{Text: "working"}); err != nil {
		t.Fatal(err)
	}
	stop(errBroken)
	if err := tr.SendNow(botmesh.Send{Text: "late"}); !errors.Is(err, errBroken) {
		t.Errorf("after the end: got error %v, want the cause", err)
	}
	if len(e.sent) != 1 || e.sent[0].Text != "working" || len(tr.Sends()) != 0 {
		t.Errorf("got %v sent at once and %v at the end, want only working, at once", e.sent, tr.Sends())
	}
}

func TestTurnShowsItsRun(t *testing.T) {
	t.Parallel()
	run := botmesh.Run{Record: botmesh.Record{
		Type: botmesh.TypeMessage, Chat: botmesh.ChatKey{Provider: "p", Chat: "1"}, Message: botmesh.Message{Text: "hi", Payload: "x"},
	}, Try: 3, Fence: 7}
	tr := flow.NewTurn(t.Context(), run, nil)
	if tr.Text() != "hi" || tr.Try() != 3 || tr.Fence() != 7 || tr.Chat() != run.Record.Chat || !tr.Now().Equal(run.Now) || tr.Record().Message.Payload != "x" {
		t.Errorf("got another run than %+v", run)
	}
	run.Record.Type = botmesh.TypeCallback
	if got := flow.NewTurn(t.Context(), run, nil).Text(); got != "x" {
		t.Errorf("the text of a pressed button: got %q, want its payload", got)
	}
}
