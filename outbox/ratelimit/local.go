package ratelimit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/time/rate"

	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/provider"
)

// maxChats is how many chats' buckets are kept, least recently used first out.
const maxChats = 10_000

// Local keeps limits for this process alone. Make one with [NewLocal]. Safe for
// concurrent use; it never waits.
type Local struct {
	cfg Config

	mu       sync.Mutex
	all      *bucket
	accounts map[string]*account
	chats    *simplelru.LRU[string, *bucket]
}

var _ outbox.Limiter = (*Local)(nil)

// Config says which limits there are.
type Config struct {
	// All is for all calls of the bot. Defaults to no limit.
	All provider.Rate
	// Override replaces what a provider's platform publishes, by the provider's id;
	// rates that are nil are left as they are.
	Override map[string]Override
}

// Override is what is to be kept to instead of what a platform publishes; a zero
// rate is no limit.
type Override struct{ Chat, Account *provider.Rate }

func (c Config) validate() error {
	check := func(of string, r provider.Rate) error {
		if r.Every < 0 || !r.IsZero() && r.Burst < 1 {
			return fmt.Errorf("ratelimit: the rate of %s is one in %v with a burst of %d, want at least 1", of, r.Every, r.Burst)
		}
		return nil
	}
	err := check("all calls", c.All)
	for id, o := range c.Override {
		for _, r := range []*provider.Rate{o.Chat, o.Account} {
			if r != nil && err == nil {
				err = check(id, *r)
			}
		}
	}
	return err
}

// limits are those of a demand.
func (c Config) limits(d outbox.Demand) provider.Limits {
	l, o := d.Limits, c.Override[d.Account]
	if o.Chat != nil {
		l.Chat = *o.Chat
	}
	if o.Account != nil {
		l.Account = *o.Account
	}
	return l
}

// account is what is known of one account.
type account struct {
	bucket
	hurt  string // the chat that was last told to wait
	until time.Time
}

// bucket is one bucket of tokens, and the lines of those who wait for them.
type bucket struct {
	tokens *rate.Limiter // nil for no limit
	of     provider.Rate
	lines  [2]time.Time // when the last of those who came anew, and of those who came back, is to come
	stop   time.Time    // nothing goes before
}

// NewLocal makes a Local.
func NewLocal(cfg Config) (*Local, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	chats, err := simplelru.NewLRU[string, *bucket](maxChats, nil)
	return &Local{cfg: cfg, all: &bucket{}, accounts: map[string]*account{}, chats: chats}, err
}

// Allow implements [outbox.Limiter].
func (l *Local) Allow(_ context.Context, d outbox.Demand) time.Duration {
	limits, now := l.cfg.limits(d), time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	chat, account := l.chat(d), l.account(d)
	chat.set(limits.Chat, now)
	account.set(limits.Account, now)
	l.all.set(l.cfg.All, now)
	buckets := [...]*bucket{chat, &account.bucket, l.all}
	if chat.free(now, true) && account.free(now, d.Waited) && l.all.free(now, d.Waited) {
		for _, b := range buckets {
			b.take(now)
		}
		return 0
	}
	pause := chat.wait(now)
	for _, b := range buckets[1:] {
		pause = max(pause, b.queue(now, d.Waited))
	}
	return max(pause, time.Millisecond)
}

// Stop implements [outbox.Limiter]. Two chats of an account that are both told to
// wait are taken for the account.
func (l *Local) Stop(_ context.Context, d outbox.Demand, all bool, pause time.Duration) {
	now := time.Now()
	until := now.Add(pause)
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(d)
	l.chat(d).halt(until)
	if all || a.hurt != "" && a.hurt != d.Limits.Address && now.Before(a.until) {
		a.halt(until)
	}
	a.hurt, a.until = d.Limits.Address, until
}

func (l *Local) account(d outbox.Demand) *account {
	a := l.accounts[d.Account]
	if a == nil {
		a = &account{}
		l.accounts[d.Account] = a
	}
	return a
}

func (l *Local) chat(d outbox.Demand) *bucket {
	key := d.Account + "/" + d.Limits.Address
	b, ok := l.chats.Get(key)
	if !ok {
		b = &bucket{}
		l.chats.Add(key, b)
	}
	return b
}

// set gives b its rate. A new one holds one token.
func (b *bucket) set(r provider.Rate, now time.Time) {
	if r == b.of {
		return
	}
	b.of, b.tokens = r, nil
	if !r.IsZero() {
		b.tokens = rate.NewLimiter(rate.Every(r.Every), r.Burst)
		b.tokens.AllowN(now, r.Burst-1)
	}
}

// free reports whether there is a token for somebody. Who comes anew leaves it to
// those who were told to come now or soon.
func (b *bucket) free(now time.Time, waited bool) bool {
	if now.Before(b.stop) || !waited && (now.Before(b.lines[0]) || now.Before(b.lines[1])) {
		return false
	}
	return b.tokens == nil || b.tokens.TokensAt(now) >= 1
}

func (b *bucket) take(now time.Time) {
	if b.tokens != nil {
		b.tokens.AllowN(now, 1)
	}
}

// wait is how long it takes until there is a token.
func (b *bucket) wait(now time.Time) time.Duration {
	pause := max(b.stop.Sub(now), 0)
	if b.tokens != nil {
		if missing := 1 - b.tokens.TokensAt(now); missing > 0 {
			pause = max(pause, time.Duration(missing*float64(b.of.Every)))
		}
	}
	return pause
}

// queue puts somebody at the end of a line, if there is no token, and gives the
// time until it is their turn.
func (b *bucket) queue(now time.Time, waited bool) time.Duration {
	if b.free(now, waited) {
		return 0
	}
	line := &b.lines[0]
	if waited {
		line = &b.lines[1]
	}
	turn := now.Add(b.wait(now))
	if next := line.Add(b.of.Every); next.After(turn) {
		turn = next
	}
	*line = turn
	return turn.Sub(now)
}

// halt empties b until then.
func (b *bucket) halt(until time.Time) {
	if until.After(b.stop) {
		b.stop = until
	}
}
