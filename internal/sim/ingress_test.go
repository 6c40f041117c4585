package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/journal"
)

// chatKey is the i-th chat.
func chatKey(i int) botmesh.ChatKey {
	return botmesh.ChatKey{Provider: []string{resends, holds, knows, edits}[i], Chat: fmt.Sprint("c", i)}
}

// post lets the users of all chats write.
func (s *sim) post() {
	var users sync.WaitGroup
	for i := range s.weather.chats {
		users.Go(func() { s.user(chatKey(i), rand.New(rand.NewPCG(s.seed, uint64(100+i)))) })
	}
	go func() {
		defer close(s.ingress.done)
		users.Wait()
	}()
}

// user writes to the bot, as a platform tells the ingress: a webhook without success
// is repeated, and some come twice all the same, soon or past the journal's window.
func (s *sim) user(chat botmesh.ChatKey, rng *rand.Rand) {
	var said []botmesh.Record
	silent := rng.IntN(s.weather.records)
	for j := range s.weather.records {
		wait := []time.Duration{0, 0, time.Second, 4 * time.Second, window + time.Second}[rng.IntN(5)]
		if j == silent {
			wait += s.weather.idle
		}
		if !s.wait(wait + time.Duration(rng.Int64N(int64(time.Second)))) {
			return
		}
		r := botmesh.Record{Type: botmesh.TypeMessage, ID: fmt.Sprint(chat.Chat, ".", j), Chat: chat, Message: botmesh.Message{Text: s.newOrder(rng)}}
		switch rng.IntN(8) {
		case 0:
			r.Type = botmesh.TypeEvent
		case 1:
			r.Type, r.Message, r.Sends = botmesh.TypeCommand, botmesh.Message{}, told(r.ID, rng)
		}
		said = append(said, r)
		s.webhook(r)
		if rng.IntN(4) == 0 {
			s.webhook(said[rng.IntN(len(said))])
		}
	}
}

func (s *sim) newOrder(rng *rand.Rand) string {
	o := order{Sends: rng.IntN(3), Keep: rng.IntN(3) == 0, End: rng.IntN(8) == 0, Slow: time.Duration(rng.IntN(1500)) * time.Millisecond}
	if rng.IntN(3) == 0 {
		o.Eager = 1 + rng.IntN(2)
	}
	switch rng.IntN(6) {
	case 0:
		o.Arm = time.Second + time.Duration(rng.Int64N(int64(20*time.Second)))
	case 1:
		o.Halt = true
	}
	if rng.IntN(6) == 0 {
		o.Tell = 1 + rng.IntN(s.weather.chats)
	}
	switch rng.IntN(12) {
	case 0:
		o.Fail = 1
	case 1:
		o.Fail = tries // set aside
	case 2:
		o.Slow += lease + 3*time.Second
	case 3:
		if rng.IntN(4) == 0 {
			o.Slow = 3 * settle // cut off, each time
		}
	case 4:
		o.Kill = rng.IntN(6) == 0
	}
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// told are the sends that a backend orders in a chat: another has other texts.
func told(id string, rng *rand.Rand) (sends []botmesh.Send) {
	for i := range 1 + rng.IntN(2) {
		sends = append(sends, botmesh.Send{Text: fmt.Sprint("told by ", id, " ", i)})
	}
	if len(sends) > 1 {
		sends[1].Media = file(id)
	}
	return sends
}

// webhook journals a record, again and again until it has success.
func (s *sim) webhook(r botmesh.Record) {
	p, err := journal.NewPublisher(journal.Config{Bot: bot, Inbox: line{s.ingress, inbox}})
	if err != nil {
		s.t.Error(err)
	}
	for s.ingress.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(s.ingress.ctx, 1500*time.Millisecond)
		_, err := p.Publish(ctx, r)
		cancel()
		if err == nil {
			s.judge.accepted(r)
			return
		}
		if !s.wait(time.Second) {
			return
		}
	}
}

func (s *sim) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.ingress.ctx.Done():
		return false
	}
}
