package check

import (
	"slices"
	"strings"

	"github.com/botmesh-go/botmesh/e2e/history"
)

// repeats checks that each copy of a part but the last was in doubt when the part
// was called again.
func (d *delivery) repeats(p *part) {
	for i := 1; i < len(p.copies); i++ {
		d.w.v.Tally.Repeats++
		first, again := p.copies[i-1], p.copies[i]
		from, to := first.span().from, again.span().from
		if r := p.receipt; r != nil && again.call.Call.N != 0 && r.at.Before(again.call.Call.Wall) {
			d.w.violate("I4", d.c.key, "%s came again at %s by %s, called at %s, though its receipt %d was there at %s",
				p.ID, d.w.at(again.event.T), again.event.By, d.w.at(to), r.seq, d.w.when(r.at))
			continue
		}
		if !d.w.doubted(first, from, to) && !d.unwritten(first.event.By, from, to) {
			d.w.violate("I4", d.c.key, "%s came at %s by %s and again at %s by %s, without doubt: nothing befell %s from its call at %s until the next one at %s, and it and its receipts were answered",
				p.ID, d.w.at(first.event.T), first.event.By, d.w.at(again.event.T), again.event.By, first.event.By, d.w.at(from), d.w.at(to))
		}
	}
}

// span is the time of the call that a copy came of.
func (s shown) span() interval {
	if s.call.Call.N == 0 {
		return interval{s.event.T, s.event.T}
	}
	return interval{s.call.Call.T, s.call.Until()}
}

// doubted reports whether there was a cause to make a call again: its answer was
// lost, or between it and the next one something befell its process, the streams,
// or the way between them.
func (w *world) doubted(s shown, from, to int64) bool {
	if s.event.Outcome == history.Dropped || s.call.Call.N != 0 && s.call.Result.Outcome != history.Done {
		return true
	}
	by := s.event.By
	if slices.ContainsFunc(w.ends[by], func(t int64) bool { return from <= t && t <= to }) {
		return true
	}
	if slices.ContainsFunc(w.stalls[by], func(i interval) bool { return i.from <= to && from <= i.to }) {
		return true
	}
	return slices.ContainsFunc(w.faults, func(f history.Operation) bool {
		return f.Call.T <= to && from <= f.Until() && separates(f.Call.Target, by)
	})
}

// unwritten reports whether an entry of the chat's chain that a process was writing
// got no answer, or was not taken, between a call and the next one: what it owed
// after that could not be written either. That another's entry stood in its place is
// no excuse, for nobody may claim before the owner's time has passed.
func (d *delivery) unwritten(process string, from, to int64) bool {
	return slices.ContainsFunc(d.c.ops[history.Chain], func(o history.Operation) bool {
		lost := !o.Known() || o.Result.Outcome == history.Unknown || o.Result.Outcome == history.Refused
		return lost && o.Call.Process == process && o.Call.T <= to && from <= o.Until()
	})
}

// separates reports whether a fault's target is what stands between a process's call and
// its receipt: the process, the streams' servers, or a link of it to those or to the
// platform. Redis is not: it decides nothing that must be right.
func separates(target, process string) bool {
	from, to, link := strings.Cut(target, ">")
	if !link {
		return is(target, process) || strings.HasPrefix(target, "nats")
	}
	for _, ends := range [][2]string{{from, to}, {to, from}} {
		if far := ends[1]; is(ends[0], process) && (strings.HasPrefix(far, "nats") || strings.HasPrefix(far, "platform")) {
			return true
		}
	}
	return strings.HasPrefix(from, "nats") && strings.HasPrefix(to, "nats")
}

// is reports whether a name means a process: its own, its replica's, or all.
func is(name, process string) bool {
	return name == "*" || name == process || strings.HasPrefix(process, name+".")
}
