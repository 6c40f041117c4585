package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/e2e/platform"
)

// Load is what users do in a run. Every chat is one user with a sequence of messages
// that the seed decides; when each is posted does not depend on answers.
type Load struct {
	Seed  uint64  `json:"seed"`
	Chats int     `json:"chats"`
	Rate  float64 `json:"rate"` // messages a second, all chats together
}

const (
	// hotEvery is the share of chats that are hot, hotWeight how much more those say.
	hotEvery  = 16
	hotWeight = 8
	// doubled are the messages that are posted again as soon as they were taken, late
	// those posted again when the journal has forgotten their ids, of 100.
	doubled = 10
	late    = 3
	// duplicateWindow is how long the journal knows an id in the runs here.
	duplicateWindow = 2 * time.Second
	// postTimeout is how long the platform waits for an answer.
	postTimeout = 3 * time.Second
)

// users are a load in progress.
type users struct {
	*scene
	load    Load
	twice   atomic.Bool // every post is doubled
	posting sync.WaitGroup
	failure atomic.Pointer[error]
}

// run has all users talk until until ends, and waits for what they still post. ctx
// ends it all.
func (u *users) run(ctx, until context.Context) error {
	var sum float64
	for i := range u.load.Chats {
		sum += weight(i)
	}
	var talking sync.WaitGroup
	for i := range u.load.Chats {
		rate := u.load.Rate * weight(i) / sum
		talking.Go(func() { u.talk(ctx, until, int64(i+1), rate) })
	}
	talking.Wait()
	u.posting.Wait()
	if err := u.failure.Load(); err != nil {
		return *err
	}
	return nil
}

func weight(chat int) float64 {
	if chat%hotEvery == 0 {
		return hotWeight
	}
	return 1
}

// talk is one user.
func (u *users) talk(ctx, until context.Context, chat int64, rate float64) {
	r := rand.New(rand.NewPCG(u.load.Seed, uint64(chat)))
	for n := 0; ; n++ {
		pause := time.Duration(r.ExpFloat64() / rate * float64(time.Second))
		texts, apart := next(r, chat, n)
		if n == 0 {
			pause /= 4
		}
		if !wait(until, pause) {
			return
		}
		if apart {
			for _, text := range texts {
				u.posting.Go(func() { u.say(ctx, chat, text) })
			}
			continue
		}
		for _, text := range texts {
			u.say(ctx, chat, text)
		}
	}
}

// next is what a user says next: texts that are posted one after the other, or all
// at once if apart.
func next(r *rand.Rand, chat int64, n int) (texts []string, apart bool) {
	plain := func() string { return fmt.Sprintf("text %d of %d, %d", n, chat, r.IntN(1000)) }
	if n == 1 && chat%hotEvery == 3 {
		return []string{"/poison"}, false
	}
	switch p := r.IntN(100); {
	case p < 6:
		return []string{"/burst " + strconv.Itoa(2+r.IntN(4))}, false
	case p < 10:
		return []string{fmt.Sprintf("/slow %.1f", 0.2+r.Float64())}, false
	case p < 13:
		return []string{"/fail 1"}, false
	case p < 17:
		return []string{"/count"}, false
	case p < 24:
		answer := "yes"
		if r.IntN(3) == 0 {
			answer = "no"
		}
		return []string{"/order", fmt.Sprintf("item %d", n), strconv.Itoa(1 + r.IntN(99)), answer}, false
	case p < 30:
		for range 3 + r.IntN(4) {
			texts = append(texts, plain())
		}
		return texts, true
	}
	return []string{plain()}, false
}

// say posts a message until it is taken, and sometimes again.
func (u *users) say(ctx context.Context, chat int64, text string) {
	update := u.platform.Message(chat, text)
	if u.twice.Load() {
		u.posting.Go(func() { u.post(ctx, chat, update) })
	}
	for !u.post(ctx, chat, update) {
		if !wait(ctx, time.Duration(100+rand.IntN(200))*time.Millisecond) {
			err := fmt.Errorf("lab: chat %d: update %d was never taken", chat, update.ID)
			u.failure.CompareAndSwap(nil, &err)
			return
		}
	}
	switch p := rand.IntN(100); {
	case p < doubled:
		u.posting.Go(func() { u.post(ctx, chat, update) })
	case p < doubled+late:
		u.posting.Go(func() {
			wait(ctx, duplicateWindow+time.Second+time.Duration(rand.IntN(3000))*time.Millisecond)
			u.post(ctx, chat, update)
		})
	}
}

// post posts an update once to any ingress, and says whether it was taken.
func (u *scene) post(ctx context.Context, chat int64, update platform.Update) bool {
	r := u.fleet.Ingress[rand.IntN(len(u.fleet.Ingress))]
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	e := history.Event{Kind: history.Webhook, Chat: history.Telegram(chat), ID: history.Update(update.ID), Target: r.Process()}
	n := u.log.Begin(e)
	a, err := u.platform.Post(ctx, r.URL, update)
	if e.Status = a.Status; err != nil {
		e.Status, e.Error = 0, "no answer"
	}
	u.log.End(n, e)
	return err == nil && a.Taken()
}
