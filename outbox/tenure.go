package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// tenure is what the goroutine of a Delivery knows.
type tenure struct {
	looked bool   // the end of the chain was read, or is known well enough
	gone   uint64 // letters up to here are no longer in the stream
	left   error  // why the tenure ended with something owed
	span   letterSpan
}

// part is a part to be called.
type part struct {
	place
	index int
	position
}

func (p part) of() botmesh.Part { return p.letter.Parts[p.index] }
func (p part) last() bool       { return p.index == len(p.letter.Parts)-1 }

// run works whenever there is something to do, until the tenure ends. What was put off
// is called when its time has come, if the tenure lasts till then: whoever has the turn
// may be in a run that waits for an answer to what it sent.
func (d *Delivery) run() {
	defer close(d.done)
	due := time.NewTimer(0)
	due.Stop()
	defer due.Stop()
	for {
		select {
		case <-due.C:
			d.work(due)
		case <-d.kick:
			d.work(due)
		case <-d.soft.Done():
			if d.t.left = d.take(d.hard); d.t.left == nil {
				d.t.left = d.leave()
				d.report(d.reached(), true, context.Cause(d.soft))
				<-d.c.busy
			}
			return
		}
	}
}

// pauseLook is how often a tenure looks whether its chat is still paused, which costs
// nothing.
const pauseLook = time.Second

// work delivers once, and has due come when what was put off may be called.
func (d *Delivery) work(due *time.Timer) {
	if d.take(d.soft) != nil {
		return
	}
	s, err := d.round()
	d.t.span.end()
	d.report(s, true, err)
	<-d.c.busy
	switch {
	case errors.Is(err, ErrPaused):
		due.Reset(pauseLook)
	case err == nil && !s.NotBefore.IsZero():
		due.Reset(s.NotBefore.Sub(d.o.now().wall))
	}
}

// take waits until no other tenure of this process works on the chain: an earlier
// one may not have been closed yet.
func (d *Delivery) take(ctx context.Context) error {
	select {
	case d.c.busy <- struct{}{}:
		return nil
	default:
	}
	select {
	case d.c.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (d *Delivery) reached() Standing {
	s := d.c.last.standing(d.o.now().wall)
	s.Settled = max(s.Settled, d.t.gone)
	return s
}

// round delivers until all letters are settled or put off, and says how far it
// came. It fails with the cause of the tenure's end, or with what makes a letter
// undeliverable here.
func (d *Delivery) round() (Standing, error) {
	for {
		err := d.c.pay(d.hard)
		if err == nil {
			err = d.look()
		}
		s := d.reached()
		if err == nil {
			d.report(s, false, nil)
			if done, why := d.rests(s); done {
				return s, why
			}
			err = d.step()
		}
		if err != nil && !errors.Is(err, errTaken) {
			return s, err
		}
	}
}

// rests reports whether there is nothing to do now.
func (d *Delivery) rests(s Standing) (bool, error) {
	switch {
	case s.Settled >= d.target():
		return true, nil
	case d.soft.Err() != nil:
		return true, context.Cause(d.soft)
	case d.o.paused(d.c.chat):
		return true, ErrPaused
	}
	return !s.NotBefore.IsZero(), nil // nobody claims or calls before
}

// step does the next thing: it calls, or claims, or waits for who may.
func (d *Delivery) step() error {
	if _, ok := d.o.senders[d.c.chat.Provider]; !ok {
		return fmt.Errorf("outbox: %w", noSender(d.c.chat.Provider))
	}
	p, ok, err := d.next(d.c.last.position)
	switch {
	case err != nil || !ok:
		return err
	case d.c.mayCall():
		return d.deliver(p)
	case d.c.mayClaim() || d.c.seen.atLeast(d.o.now()) >= d.o.cfg.Hold:
		calls, err := d.calls(p)
		if err != nil {
			return err
		}
		return d.c.claim(d.hard, calls)
	}
	return d.c.await(d.soft)
}

// look makes sure that the end of the chain is known. It is not read if what is
// known settles all up to the letter before the first one at hand: had another
// replica delivered since, that would be another letter.
func (d *Delivery) look() error {
	c := d.c
	if d.t.looked && c.known {
		return nil
	}
	if _, ok := d.fromMemory(c.last.Through); !ok || !c.known {
		m, err := d.insist(func() (jet.Stored, error) { return d.o.stream.Last(d.soft, c.receipts) })
		var l link
		if err == nil {
			l, err = decodeEntry(m)
		}
		switch {
		case errors.Is(err, botmesh.ErrNotFound):
			c.learn(link{})
		case err != nil:
			return err
		case l.seq > c.last.seq || !c.known: // else a deposed leader answered
			c.learn(l)
		}
	}
	d.t.looked = true
	return nil
}

// next is the part at a position, from memory or from the stream. There is none if
// the letters up to the target are gone.
func (d *Delivery) next(at position) (part, bool, error) {
	pl, ok := d.fromMemory(at.Through)
	for !ok {
		var err error
		if pl, ok, err = d.read(at.Through); err != nil {
			return part{}, false, err
		}
		if ok {
			d.remember(pl)
			break
		}
		info, err := d.o.stream.Info(d.soft)
		if again, _, rerr := d.read(at.Through); err == nil && rerr == nil && again.seq == 0 && info.LastSeq >= d.target() {
			d.o.cfg.Logger.WarnContext(d.soft, "letters are gone undelivered", "chat", d.c.chat, "seq", d.target())
			d.t.gone = d.target()
			return part{}, false, nil
		}
		if err := sleep(d.soft, d.o.cfg.Hold/100); err != nil { // the leader that answered knows less than we do
			return part{}, false, err
		}
	}
	if at.Parts >= len(pl.letter.Parts) {
		return part{}, false, fmt.Errorf("outbox: letter %s at %d has %d parts, %d are settled", pl.letter.ID, pl.seq, len(pl.letter.Parts), at.Parts)
	}
	return part{pl, at.Parts, at}, true, nil
}

// read reads the first letter after sequence through.
func (d *Delivery) read(through uint64) (place, bool, error) {
	m, err := d.insist(func() (jet.Stored, error) { return d.o.stream.Next(d.soft, d.c.letters, through+1) })
	if errors.Is(err, botmesh.ErrNotFound) {
		return place{}, false, nil
	}
	if err != nil {
		return place{}, false, err
	}
	l, err := decodeLetter(m)
	return place{m.Seq, through, true, l}, err == nil, err
}

// insist reads until there is an answer, or the tenure ends.
func (d *Delivery) insist(read func() (jet.Stored, error)) (jet.Stored, error) {
	wait := d.o.newPause()
	for {
		m, err := read()
		if err == nil || errors.Is(err, botmesh.ErrNotFound) {
			return m, err
		}
		if d.soft.Err() != nil {
			return m, context.Cause(d.soft)
		}
		d.o.cfg.Logger.DebugContext(d.soft, "outbox not read yet", "chat", d.c.chat, "err", err)
		wait(d.soft)
	}
}

// calls is how many parts from p on the owner that p is taken over from may have
// called: what it announced, of what there is. One that gave up its ownership, and
// this process itself, left none without a receipt.
func (d *Delivery) calls(p part) (int, error) {
	last := d.c.last
	switch {
	case last.seq == 0 || last.Free || d.c.mine || d.o.recognises(d.c.chat.Provider):
		return 0, nil
	case last.Calls < ahead || !p.last():
		return last.Calls, nil
	}
	_, more, err := d.read(p.seq)
	if more {
		return ahead, err
	}
	return 1, err
}

// leave writes what is owed, and a free entry if the chain's end is ours and not
// free, so that the next owner need not wait. Where the tenure is cut off it takes
// a moment for it all the same.
func (d *Delivery) leave() error {
	ctx := d.hard
	if ctx.Err() != nil {
		moment, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.o.cfg.Hold/15)
		defer cancel()
		ctx = moment
	}
	err := d.c.pay(ctx)
	if err == nil && d.c.mine && !d.c.last.Free {
		d.c.owe(entry{Kind: kindFree, Free: true, position: d.c.last.position})
		err = d.c.pay(ctx)
	}
	if err == nil || errors.Is(err, errTaken) {
		return nil
	}
	return context.Cause(d.hard)
}
