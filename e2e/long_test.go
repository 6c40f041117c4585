package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/fleet"
)

// eager is what /slow says at once.
const eager = "working"

// numbered tells the eager sends of a chat apart, by how many long turns had
// ended. An end that was sent twice, its call being in doubt, is one.
func numbered(calls []check.Call) []check.Call {
	ended := map[string][]string{}
	for i, c := range calls {
		switch {
		case c.Text == eager:
			calls[i].Text = fmt.Sprintf("%s, %d ended", eager, len(ended[c.Chat]))
		case strings.HasPrefix(c.Text, "done after ") && !slices.Contains(ended[c.Chat], c.Text):
			ended[c.Chat] = append(ended[c.Chat], c.Text)
		}
	}
	return calls
}

// longTurns are chats that say /slow, /burst and /count in one breath, again and
// again. Nearly all the time each is in a turn or has letters on their way, with a
// record behind that waits.
type longTurns struct {
	s     *scene
	chats []int64
	least time.Duration // that each turn takes
	group sync.WaitGroup
	ended chan struct{}

	mu    sync.Mutex
	asked map[int64]int // how many /slow each chat has said
	hit   map[int64]int // the one that was last killed, so that none dies twice
}

func newLongTurns(s *scene, n int, least time.Duration) *longTurns {
	l := &longTurns{s: s, least: least, ended: make(chan struct{}), asked: map[int64]int{}, hit: map[int64]int{}}
	for i := range n {
		l.chats = append(l.chats, int64(10+i))
	}
	return l
}

// long is how many seconds a chat's n-th /slow takes, each a number of its own.
func (l *longTurns) long(n int) string {
	return fmt.Sprintf("%.3f", (l.least + time.Duration(n)*time.Millisecond).Seconds())
}

// many is how many messages its n-th /burst brings, each time another number.
func many(n int) int { return 10 + n }

func (l *longTurns) start(ctx context.Context) {
	for _, chat := range l.chats {
		l.group.Go(func() {
			for n := 1; ; n++ {
				if closed(l.ended) {
					return
				}
				l.mu.Lock()
				l.asked[chat] = n
				l.mu.Unlock()
				for _, text := range []string{"/slow " + l.long(n), "/burst " + strconv.Itoa(many(n)), "/count"} {
					if err := l.s.Say(ctx, l.s.URLs(), chat, text); err != nil {
						return
					}
				}
				if err := l.s.AwaitText(ctx, chat, fmt.Sprintf("count: %d", n)); err != nil {
					return // which what the chat got will tell
				}
			}
		})
	}
}

// holder finds a worker that says it is running long turns, and the chats of those,
// none of which was killed in this turn before: a record that kills its process
// again and again is set aside, and rightly so.
func (l *longTurns) holder(ctx context.Context) (*fleet.Replica, []int64) {
	give, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		for _, w := range l.s.Workers {
			if status, err := w.Status(give); err == nil {
				if chats := l.running(status); len(chats) > 0 {
					return w, chats
				}
			}
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-give.Done():
			return nil, nil
		}
	}
}

// running are the chats whose long turns a worker runs, none if one of them was
// killed before.
func (l *longTurns) running(status fleet.Status) (chats []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, lane := range status.Lanes {
		chat, err := strconv.ParseInt(strings.TrimPrefix(lane.Chat, "telegram/"), 10, 64)
		if err != nil || !slices.Contains(l.chats, chat) || lane.Phase != "running" {
			continue
		}
		if l.hit[chat] == l.asked[chat] {
			return nil
		}
		if l.open(chat) {
			chats = append(chats, chat)
		}
	}
	return chats
}

// open reports whether a chat's long turn has begun and not ended, as the platform
// saw it: it was told that the bot works, and not yet that it is done.
func (l *longTurns) open(chat int64) bool {
	texts := l.s.Texts(chat)
	begun := 0
	for _, text := range texts {
		if text == eager {
			begun++
		}
	}
	n := l.asked[chat]
	return begun >= n && !slices.Contains(texts, "done after "+l.long(n)+"s")
}

// interrupted reports whether the turn of one of the chats, which a process that
// was just killed was running, is still open.
func (l *longTurns) interrupted(chats []int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	any := false
	for _, chat := range chats {
		if l.open(chat) {
			l.hit[chat] = l.asked[chat]
			any = true
		}
	}
	return any
}

// stop waits for the turns that were asked for and returns what the chats are to
// have got, with the eager sends numbered.
func (l *longTurns) stop() map[string][]string {
	close(l.ended)
	l.group.Wait()
	want := map[string][]string{}
	for _, chat := range l.chats {
		var texts []string
		for n := 1; n <= l.asked[chat]; n++ {
			texts = append(texts, fmt.Sprintf("%s, %d ended", eager, n-1), "done after "+l.long(n)+"s")
			for i := range many(n) {
				texts = append(texts, fmt.Sprintf("%d/%d", i+1, many(n)))
			}
			texts = append(texts, fmt.Sprintf("count: %d", n))
		}
		want[strconv.FormatInt(chat, 10)] = texts
	}
	return want
}
