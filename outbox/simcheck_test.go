package outbox

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// simLog counts the doubts that are reported.
type simLog struct {
	slog.Handler
	check *simCheck
}

func (l simLog) Enabled(context.Context, slog.Level) bool { return true }

func (l simLog) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if r.Message == "parts in doubt" && a.Key == "parts" {
			l.check.doubted(int(a.Value.Int64()))
		}
		return true
	})
	return nil
}

// simCheck is what must be true of the calls and the chain.
type simCheck struct {
	s        *sim
	mu       sync.Mutex
	calls    []*simMade
	taken    []*simMade
	tail     uint64 // the last letter of all, once it is there
	last     link
	at       time.Time
	receipts map[string]botmesh.Receipt
	doubts   int
	entries  int
}

// simMade is a call of a part.
type simMade struct {
	by      *simProcess
	part    string
	faults  int  // that had befallen its process when it began
	written bool // what came of it is in the chain
}

func (c *simCheck) fail(format string, args ...any) {
	c.s.Errorf("seed %d: "+format, append([]any{c.s.seed}, args...)...)
}

func (c *simCheck) doubted(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.doubts += n
}

func (c *simCheck) begin(p *simProcess, part string) *simMade {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.By == p.name && time.Now().Before(c.last.NotBefore) {
		c.fail("%s calls %s before %v", p.name, part, c.last.NotBefore)
	}
	m := &simMade{by: p, part: part, faults: p.faults}
	c.calls = append(c.calls, m)
	return m
}

func (c *simCheck) took(m *simMade) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = append(c.taken, m)
}

// done reports whether the last letter is there and settled.
func (c *simCheck) done() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tail > 0 && c.last.Through == c.tail
}

// stored looks at an entry against the one before it.
func (c *simCheck) stored(p *simProcess, seq uint64, m jet.Publish) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !strings.HasPrefix(m.Subject, familyReceipt) {
		if strings.HasSuffix(m.Header.Get(headerID), "."+strconv.Itoa(simLetters)) {
			c.tail = seq
		}
		return
	}
	e := link{seq: seq}
	if err := json.Unmarshal(m.Data, &e.entry); err != nil {
		c.fail("entry %d: %v", seq, err)
	}
	prev, now := c.last, time.Now()
	c.s.logf("chain %d %s %s free=%v %+v", seq, e.By, e.Kind, e.Free, e.position)
	owns := prev.By == e.By && !prev.Free
	switch {
	case e.Through < prev.Through || e.Through == prev.Through && e.Parts < prev.Parts:
		c.fail("entry %d goes back from %+v to %+v", seq, prev.position, e.position)
	case e.Kind != kindClaim && !owns:
		c.fail("entry %d, %s by %s, follows one by %s", seq, e.Kind, e.By, prev.By)
	case e.Kind == kindClaim && prev.seq > 0 && !prev.Free && prev.By != e.By && now.Sub(c.at) < hold:
		c.fail("%s claims from %s after %v", e.By, prev.By, now.Sub(c.at))
	case e.Kind == kindClaim && now.Before(prev.NotBefore):
		c.fail("%s claims before %v", e.By, prev.NotBefore)
	}
	if r := e.Receipt; r != nil {
		if _, twice := c.receipts[r.Part]; twice {
			c.fail("part %s has two receipts", r.Part)
		}
		c.receipts[r.Part] = *r
	}
	if e.Receipt != nil || e.Kind == kindRetry {
		for _, m := range slices.Backward(c.calls) {
			if m.by == p && !m.written && (e.Receipt == nil || m.part == e.Receipt.Part) {
				m.written = true
				break
			}
		}
	}
	c.last, c.at = e, now
	c.entries++
}

// comparePlaces orders ids of parts.
func comparePlaces(a, b string) int {
	place := func(part string) (letter, send int) {
		_, err := fmt.Sscanf(part, "test.a/j.%d/%d.0", &letter, &send)
		if err != nil {
			panic(err)
		}
		return letter, send
	}
	la, sa := place(a)
	lb, sb := place(b)
	return cmp.Or(cmp.Compare(la, lb), cmp.Compare(sa, sb))
}

// simSum is how much happened.
type simSum struct{ letters, parts, entries, calls, doubts, extra, held, dead int }

func (s *simSum) add(o simSum) {
	s.letters += o.letters
	s.parts += o.parts
	s.entries += o.entries
	s.calls += o.calls
	s.doubts += o.doubts
	s.extra += o.extra
	s.held += o.held
	s.dead += o.dead
}

// end looks at the whole.
func (c *simCheck) end() (sum simSum) {
	s := c.s
	if s.Failed() {
		return sum
	}
	if c.tail == 0 || c.last.Through != c.tail {
		c.fail("all is settled up to %d, want %d", c.last.Through, c.tail)
	}
	copies, first := map[string]int{}, []string(nil)
	for _, m := range c.taken {
		if copies[m.part]++; copies[m.part] == 1 {
			first = append(first, m.part)
		}
		if !m.written && m.by.faults == m.faults {
			c.fail("%s called %s, no fault befell it, and no receipt says so", m.by.name, m.part)
		}
	}
	if !slices.IsSortedFunc(first, comparePlaces) && !s.pauses {
		c.fail("order: got %v", first)
	}
	extra := 0
	for part, r := range c.receipts {
		n := copies[part]
		switch r.Result {
		case botmesh.ResultHeld:
			sum.held++
		case botmesh.ResultPermanent:
			sum.dead++
		}
		switch {
		case r.Result == botmesh.ResultDelivered && n == 0:
			c.fail("part %s is delivered, and the platform has it not", part)
		case n > 1 && s.hold:
			c.fail("part %s was held and taken %d times", part, n)
		case n > 1 && !r.InDoubt:
			c.fail("part %s was taken %d times, and its receipt is in no doubt", part, n)
		}
		extra += max(n-1, 0)
	}
	if extra > c.doubts {
		c.fail("%d copies too many, %d parts counted in doubt", extra, c.doubts)
	}
	if !s.faults && !s.kills && !s.pauses && (c.doubts > 0 || extra > 0) {
		c.fail("%d parts in doubt without a fault", c.doubts)
	}
	letters, _ := s.stream.Range(context.Background(), subjectOf(familyLetter, "b", chatA), 0, 100)
	sum.letters, sum.parts, sum.entries, sum.calls = len(letters), len(c.receipts), c.entries, len(c.calls)
	sum.doubts, sum.extra = c.doubts, extra
	return sum
}
