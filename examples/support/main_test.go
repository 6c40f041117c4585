package main

import (
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

var (
	desk = botmesh.ChatKey{Provider: "test", Chat: "desk"}
	user = botmesh.ChatKey{Provider: "test", Chat: "1"}
)

const person, back = "a person will answer you here, /bot brings me back", "here I am again"

func TestAPersonTakesOver(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, support(desk))
	p.User("Hours").Bot("We are there from 9 to 17.")
	p.User("hm").Bot("I know about hours, shipping and refunds. /human gets you a person.")
	p.User("/human").Bot(person).Told(desk, "test/1: /human")
	p.HandOver(support(desk)).CrashOn("hours").Silent().Told(desk, "test/1: hours")
	p.User("/bot").Bot(back).User("shipping").Bot("It takes three days.")
	p.User("/to test/1 hello").Bot("usage: /to <chat> <text>") // only the team may
}

// Who does not find the number is put through, and may go on with it later.
func TestAPersonHelps(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, support(desk)).Repeated()
	p.User("refund").Bot("Which order is it?")
	p.User("the blue one").Bot("Please send a whole number from 1000 to 9999.\nWhich order is it?")
	p.User("the one of May").Bot(person).Told(desk, "test/1: the one of May")
	p.User("so where?").Silent().Told(desk, "test/1: so where?")
	p.User("/bot").Bot(back + "\nWhich order is it?").User("4711").Bot("The money for order 4711 is on its way.").Idle()
}

func TestTheTeamAnswers(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, support(desk))
	say := func(text string) *flowtest.Player {
		return p.Record(botmesh.Record{Type: botmesh.TypeMessage, Chat: desk, Message: botmesh.Message{Text: text}})
	}
	say("who takes this?").Silent()
	say("/to test/1 You get it back.").Silent().Told(user, "You get it back.")
	say("/to nobody").Bot("usage: /to <chat> <text>")
}
