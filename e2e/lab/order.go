package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh/e2e/fleet"
	"github.com/botmesh-go/botmesh/e2e/history"
)

// adminToken is what backends know.
const adminToken = "lab-admin-token-1"

// askedAgain are the sends of a backend that it asks for again as soon as they were
// taken, askedLate those that it asks for again when the journal has forgotten their
// ids, of 100. Each goes to another worker.
const (
	askedAgain = 40
	askedLate  = 15
)

// order has a worker send a text to a chat, as a backend does: it asks until that is
// taken, and sometimes again.
func (u *users) order(ctx context.Context, chat int64, key, text string) {
	i := rand.IntN(len(u.fleet.Workers))
	another := func() *fleet.Replica {
		i = (i + 1 + rand.IntN(len(u.fleet.Workers)-1)) % len(u.fleet.Workers)
		return u.fleet.Workers[i]
	}
	for !u.ask(ctx, another(), chat, key, text) {
		if !wait(ctx, time.Duration(100+rand.IntN(200))*time.Millisecond) {
			err := fmt.Errorf("lab: chat %d: the send %s was never taken", chat, key)
			u.failure.CompareAndSwap(nil, &err)
			return
		}
	}
	switch p := rand.IntN(100); {
	case p < askedAgain:
		u.ask(ctx, another(), chat, key, text)
	case p < askedAgain+askedLate:
		wait(ctx, duplicateWindow+time.Second+time.Duration(rand.IntN(3000))*time.Millisecond)
		u.ask(ctx, another(), chat, key, text)
	}
}

// ask asks one worker once, and says whether it took the send.
func (s *scene) ask(ctx context.Context, w *fleet.Replica, chat int64, key, text string) bool {
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	name := history.Telegram(chat)
	e := history.Event{Kind: history.Order, Chat: name, ID: history.Ordered(name, key), Target: w.Process(), Text: history.Digest(text)}
	n := s.log.Begin(e)
	status, seq, err := w.Send(ctx, fleet.Sending{Token: adminToken, Chat: strings.Replace(name, ".", "/", 1), Text: text, Key: key})
	if e.Status, e.Seq = status, seq; err != nil {
		e.Status, e.Error = 0, "no answer"
	}
	s.log.End(n, e)
	return status == http.StatusAccepted
}
