package main

import (
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/flow/flowtest"
)

func TestAnOrder(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, pizza()).Repeated()
	p.User("/order").Bot("Which size?").Buttons("Small", "Large").Tap("Large").Bot("What on it?")
	p.HandOver(pizza()).User("cheese, olives").Bot("Where to?").CrashOn("Hauptstr. 5").Bot("And your number?")
	p.User("/back").Bot("Where to?").User("Hauptstr. 7").Bot("And your number?").User("030 123456")
	p.Bot("A pizza (l) with cheese and olives to Hauptstr. 7?").Tap("Yes")
	p.Bot("On its way to Hauptstr. 7. We call +4930123456 if we get lost.").Idle()
}

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, pizza()).Locale("de-DE")
	p.User("/order").Bot("Welche Größe?").User("groß").Bot("What on it?")
	p.Advance(time.Hour).Bot("Der Ofen ist kalt. /order, wenn Sie wieder Hunger haben.").Idle()
}

func TestAnyOrder(t *testing.T) {
	t.Parallel()
	flowtest.Walk(t, orderFlow(), "l", "cheese", "Hauptstr. 5", "030 123456", "yes")
}

// Whoever changes what waiting customers depend on is told so, and by what.
func TestWaitingCustomers(t *testing.T) {
	t.Parallel()
	flowtest.Lock(t, "testdata/flows.lock", orderFlow())
}
