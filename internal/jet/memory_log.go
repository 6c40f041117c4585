package jet

import (
	"slices"
	"sort"
	"strings"
	"time"
)

// memoryLog holds the messages of a stream in order of their sequence.
type memoryLog struct {
	all       []*memoryMsg            // in order; a removed one stays until the next compact
	bySubject map[string][]*memoryMsg // in order, removed ones taken out
	live      int
	last      uint64
	nextEnd   time.Time // when the first message with a time to live ends, zero if none has one
}

type memoryMsg struct {
	Stored
	ends    time.Time // zero: never
	removed bool
	kept    bool // not removed for its age
}

func newMemoryLog() *memoryLog { return &memoryLog{bySubject: map[string][]*memoryMsg{}} }

func (l *memoryLog) add(m *memoryMsg) {
	l.last++
	m.Seq = l.last
	l.all = append(l.all, m)
	l.bySubject[m.Subject] = append(l.bySubject[m.Subject], m)
	l.live++
	if !m.ends.IsZero() && (l.nextEnd.IsZero() || m.ends.Before(l.nextEnd)) {
		l.nextEnd = m.ends
	}
}

func (l *memoryLog) remove(m *memoryMsg) {
	if m.removed {
		return
	}
	m.removed = true
	l.live--
	of := l.bySubject[m.Subject]
	at := search(of, m.Seq)
	if of = slices.Delete(of, at, at+1); len(of) == 0 {
		delete(l.bySubject, m.Subject)
	} else {
		l.bySubject[m.Subject] = of
	}
	if len(l.all) > 64 && l.live < len(l.all)/2 {
		l.all = slices.DeleteFunc(l.all, func(m *memoryMsg) bool { return m.removed })
	}
}

// expire removes what is older than maxAge or past its own time to live.
func (l *memoryLog) expire(now time.Time, maxAge time.Duration) {
	if maxAge > 0 {
		var old []*memoryMsg
		for _, m := range l.all {
			if m.removed || m.kept {
				continue
			}
			if now.Sub(m.Time) < maxAge {
				break
			}
			old = append(old, m)
		}
		for _, m := range old {
			l.remove(m)
		}
		for len(l.all) > 0 && l.all[0].removed {
			l.all = l.all[1:]
		}
	}
	if l.nextEnd.IsZero() || now.Before(l.nextEnd) {
		return
	}
	l.nextEnd = time.Time{}
	for _, m := range slices.Clone(l.all) {
		switch {
		case m.removed || m.ends.IsZero():
		case !now.Before(m.ends):
			l.remove(m)
		case l.nextEnd.IsZero() || m.ends.Before(l.nextEnd):
			l.nextEnd = m.ends
		}
	}
}

func (l *memoryLog) first() *memoryMsg {
	for _, m := range l.all {
		if !m.removed {
			return m
		}
	}
	return nil
}

func (l *memoryLog) get(seq uint64) *memoryMsg {
	if at := search(l.all, seq); at < len(l.all) && l.all[at].Seq == seq && !l.all[at].removed {
		return l.all[at]
	}
	return nil
}

func (l *memoryLog) lastOf(subject string) *memoryMsg {
	if of := l.bySubject[subject]; len(of) > 0 {
		return of[len(of)-1]
	}
	return nil
}

// next is the first message at or after from on a subject, which may have wildcards.
func (l *memoryLog) next(subject string, from uint64) *memoryMsg {
	all := l.all
	literal := !strings.ContainsAny(subject, "*>")
	if literal {
		all = l.bySubject[subject]
	}
	for _, m := range all[search(all, from):] {
		if !m.removed && (literal || matches(subject, m.Subject)) {
			return m
		}
	}
	return nil
}

// search is the index of the first message at or after seq.
func search(of []*memoryMsg, seq uint64) int {
	return sort.Search(len(of), func(i int) bool { return of[i].Seq >= seq })
}

// matches reports whether a subject is among those that a pattern with wildcards
// names. The empty pattern names all.
func matches(pattern, subject string) bool {
	if pattern == "" {
		return true
	}
	for {
		p, restP, moreP := strings.Cut(pattern, ".")
		s, restS, moreS := strings.Cut(subject, ".")
		switch {
		case p == ">":
			return s != ""
		case p != "*" && p != s, moreP != moreS:
			return false
		case !moreP:
			return true
		}
		pattern, subject = restP, restS
	}
}
