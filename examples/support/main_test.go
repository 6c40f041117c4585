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

func TestAPersonTakesOver(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, support(desk))
	p.User("Hours").Bot("We are there from 9 to 17.")
	p.User("refund").Bot("I know about hours and shipping. /human gets you a person.")
	p.User("/human").Bot("A person will answer you here. /bot brings me back.").Told(desk, "test/1 wants a person.")
	p.HandOver(support(desk)).CrashOn("hours").Silent().Told(desk, "test/1: hours")
	p.User("/bot").Bot("Here I am.").User("shipping").Bot("It takes three days.")
	p.User("/to test/1 hello").Bot("usage: /to <chat> <text>") // only the team may
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
