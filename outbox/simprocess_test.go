package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/provider"
)

// simProcess is one incarnation.
type simProcess struct {
	*Outbox
	s      *sim
	name   string
	ctx    context.Context
	cancel context.CancelFunc
	rng    *rand.Rand
	dead   bool
	paused time.Time // until then
	faults int       // how many befell it
}

// work is what the dispatcher does under a turn, whoever has it.
func (p *simProcess) work() {
	for p.ctx.Err() == nil {
		d := p.Deliver(p.ctx, chatA)
		ctx, cancel := context.WithTimeout(p.ctx, time.Duration(1+p.rng.IntN(40))*time.Second)
		for range p.rng.IntN(4) {
			p.post(ctx, d)
		}
		if tail, err := p.Last(ctx, chatA); err == nil {
			_, _ = d.Wait(ctx, tail.Seq)
		}
		cancel()
		end := time.Minute
		if p.rng.IntN(4) == 0 {
			end = time.Duration(p.rng.IntN(1000)) * time.Millisecond
		}
		ctx, cancel = context.WithTimeout(p.ctx, end)
		_, _ = d.Close(ctx)
		cancel()
		_ = sleep(p.ctx, time.Duration(p.rng.IntN(2000))*time.Millisecond)
	}
}

// post appends the chat's next letter, if there is one, behind what is there.
func (p *simProcess) post(ctx context.Context, d *Delivery) {
	tail, err := p.Last(ctx, chatA)
	if err != nil {
		return
	}
	_, last, _ := cutLast(tail.ID, ".")
	n, _ := strconv.Atoi(last)
	if n++; n > simLetters {
		return
	}
	var sends []botmesh.Send
	for i := range 1 + (int(p.s.seed)+n)%3 {
		sends = append(sends, botmesh.Send{Text: fmt.Sprintf("%d/%d", n, i)})
	}
	l, err := p.Letter(botmesh.LetterID(chatA, "j", uint64(n)), chatA, sends, time.Now(), nil)
	if err != nil {
		p.s.Error(err)
	}
	if seq, err := p.Append(ctx, l, tail.Seq); err == nil {
		d.Put(seq, l)
	}
}

// wait parks a call until the scheduler lets it go.
func (p *simProcess) wait(ctx context.Context, key string) fate {
	s := p.s
	s.mu.Lock()
	if p.dead {
		s.mu.Unlock()
		return drop
	}
	c := &simCall{of: p, key: key, since: time.Now(), tell: make(chan fate, 1)}
	s.waiting = append(s.waiting, c)
	s.mu.Unlock()
	select {
	case f := <-c.tell:
		return f
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = slices.DeleteFunc(s.waiting, func(w *simCall) bool { return w == c })
	select {
	case f := <-c.tell:
		return f
	default:
		p.faults++
		return drop
	}
}

// simLine is a process's way to the server.
type simLine struct {
	*jet.MemoryStream
	p *simProcess
}

func (l simLine) Publish(ctx context.Context, p jet.Publish) (jet.Ack, error) {
	do := func() (jet.Ack, error) {
		ack, err := l.MemoryStream.Publish(context.Background(), p)
		if err == nil {
			l.p.s.check.stored(l.p, ack.Seq, p)
		}
		return ack, err
	}
	switch f := l.p.wait(ctx, "publish "+p.Subject+string(p.Data)); f {
	case refuse:
		return jet.Ack{}, botmesh.ErrRefused
	case lie:
		return jet.Ack{}, botmesh.ErrConflict
	case drop:
		return jet.Ack{}, botmesh.ErrUnknown
	case late:
		s := l.p.s
		s.mu.Lock()
		s.late = append(s.late, simLate{time.Now().Add(time.Duration(s.rng.IntN(30)) * time.Second), func() { _, _ = do() }})
		slices.SortStableFunc(s.late, func(a, b simLate) int { return a.at.Compare(b.at) })
		s.mu.Unlock()
		return jet.Ack{}, botmesh.ErrUnknown
	case lose:
		_, _ = do()
		return jet.Ack{}, botmesh.ErrUnknown
	}
	ack, err := do()
	l.p.wait(ctx, "answer "+p.Subject+string(p.Data)) // its process may be frozen when it comes
	return ack, err
}

func (l simLine) Last(ctx context.Context, subject string) (jet.Stored, error) {
	if l.p.wait(ctx, "last "+subject) != pass {
		return jet.Stored{}, botmesh.ErrRefused
	}
	return l.MemoryStream.Last(context.Background(), subject)
}

func (l simLine) Next(ctx context.Context, subject string, from uint64) (jet.Stored, error) {
	if l.p.wait(ctx, "next "+subject) != pass {
		return jet.Stored{}, botmesh.ErrRefused
	}
	return l.MemoryStream.Next(context.Background(), subject, from)
}

func (p *simProcess) ID() string                               { return "test" }
func (p *simProcess) Split(s botmesh.Send) []botmesh.Send      { return []botmesh.Send{s} }
func (p *simProcess) setAside(context.Context, DeadSend) error { return nil }

// Call is the platform.
func (p *simProcess) Call(ctx context.Context, c provider.Call) (provider.Sent, error) {
	id := p.s.check.begin(p, c.Part)
	switch f := p.wait(ctx, "call "+c.Part); f {
	case drop:
		return provider.Sent{}, errors.New("timeout")
	case later:
		return provider.Sent{}, provider.Retry(errors.New("busy"), 0)
	case never:
		return provider.Sent{}, provider.Permanent(errors.New("no"))
	case lose:
		p.s.check.took(id)
		return provider.Sent{}, errors.New("timeout")
	}
	p.s.check.took(id)
	return provider.Sent{MessageID: "m"}, nil
}
