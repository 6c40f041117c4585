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
// that the seed decides; when each is posted does not depend on answers, but all slow
// down when the bot is far behind: a run is judged by what it does to the work that
// there is, and a backlog without bound has no end to be seen.
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
	// farBehind is how much the bot may have still to do before the users slow down:
	// they pause twice as long at twice as much, and so on.
	farBehind = 150
	// postTimeout is how long the platform waits for an answer.
	postTimeout = 3 * time.Second
)

// users are a load in progress.
type users struct {
	*scene
	load    Load
	twice   atomic.Bool   // every post is doubled
	behind  atomic.Uint64 // what the bot has still to do
	posting sync.WaitGroup
	failure atomic.Pointer[error]
}

// run has all users talk until until ends, and waits for what they still post. ctx
// ends it all.
func (u *users) run(ctx, until context.Context) error {
	watching, stop := context.WithCancel(until)
	defer stop()
	u.posting.Go(func() { u.watchBacklog(watching) })
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
	stop()
	u.posting.Wait()
	if err := u.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// watchBacklog keeps behind true, as far as the servers answer.
func (u *users) watchBacklog(ctx context.Context) {
	for wait(ctx, time.Second) {
		if left, err := u.waiting(ctx); err == nil {
			u.behind.Store(left.all())
		}
	}
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
		act := next(r, chat, n)
		if n == 0 {
			pause /= 4
		}
		if !wait(until, pause*time.Duration(1+u.behind.Load()/farBehind)) {
			return
		}
		u.do(ctx, chat, n, act)
	}
}

// do does one act of a user, the n-th, and of those that send to it.
func (u *users) do(ctx context.Context, chat int64, n int, a act) {
	for _, text := range a.texts {
		if a.apart {
			u.posting.Go(func() { u.say(ctx, chat, text) })
		} else {
			u.say(ctx, chat, text)
		}
	}
	if a.sent != "" {
		u.posting.Go(func() { u.order(ctx, chat, fmt.Sprintf("%d-%d", chat, n), a.sent) })
	}
}

// act is what happens in a chat at once: texts of its user, posted one after the
// other or all at once if apart, and what a backend sends to it.
type act struct {
	texts []string
	apart bool
	sent  string
}

// next is the n-th act of a chat.
func next(r *rand.Rand, chat int64, n int) act {
	plain := func() string { return fmt.Sprintf("text %d of %d, %d", n, chat, r.IntN(1000)) }
	say := func(texts ...string) act { return act{texts: texts} }
	if n == 1 && chat%hotEvery == 3 {
		return say("/poison")
	}
	switch p := r.IntN(100); {
	case p < 6:
		return say("/burst " + strconv.Itoa(2+r.IntN(4)))
	case p < 10:
		return say(fmt.Sprintf("/slow %.1f", 0.2+r.Float64()))
	case p < 13:
		return say("/fail 1")
	case p < 17:
		return say("/count")
	case p < 24:
		answer := "yes"
		if r.IntN(3) == 0 {
			answer = "no"
		}
		return say("/order", fmt.Sprintf("item %d", n), strconv.Itoa(1+r.IntN(99)), answer)
	case p < 30:
		a := act{apart: true}
		for range 3 + r.IntN(4) {
			a.texts = append(a.texts, plain())
		}
		return a
	case p < 36:
		return act{texts: []string{plain()}, sent: fmt.Sprintf("news %d for %d, %d", n, chat, r.IntN(1000))}
	case p < 40:
		return say(fmt.Sprintf("/remind %dms tea %d of %d", r.IntN(4000), n, chat))
	case p < 43:
		return say(fmt.Sprintf("/later 5s milk %d of %d", n, chat), fmt.Sprintf("/later %dms cake %d of %d", r.IntN(2000), n, chat))
	}
	return say(plain())
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
