package flow

import (
	"testing"

	"github.com/botmesh-go/botmesh"
)

// A clock that has fired when its question is answered ends none of the conversation's next
// ones, however late it comes to its turn.
func TestTheClockOfAnAnsweredQuestionEndsNothing(t *testing.T) {
	lives := NewLives(nil)
	k := &talk{of: &live{}, chat: botmesh.ChatKey{Provider: "test", Chat: "1"}, over: make(chan struct{}), done: make(chan struct{}), c: &Live{}}
	close(k.done)
	k.turns = 1
	lives.park(t.Context(), k)
	if lives.take(k.chat, Position{Live: &Waiting{Turns: 1}}) != k {
		t.Fatal("got nothing, want what waits")
	}
	k.turns = 2
	lives.park(t.Context(), k)
	lives.forget(k, 1)
	if lives.Len() != 1 {
		t.Error("the clock of the first question ended the second")
	}
	lives.forget(k, 2)
	if lives.Len() != 0 {
		t.Error("that of the second question did not")
	}
	if err := lives.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
