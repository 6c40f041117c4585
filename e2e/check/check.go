// Package check judges runs of the programs, from a history to a verdict.
//
// [Replies] goes by what the platform saw alone, and trusts no word of the system
// under test but its count of sends in doubt, which it must not exceed. [Judge] has the
// streams too, every revision of every checkpoint in them, and what the processes
// wrote of their calls: it says of each invariant whether it held, and of a run that
// met too little that it proved nothing.
//
// What belongs here: pure functions from evidence to a verdict, and reading the
// streams. How a run is made, and its faults, do not: they come from outside.
package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Call is one call of the platform's API that the platform took.
type Call struct {
	Chat string
	Text string
	// By names the process that called. Every start of a program has a name of its own.
	By string
	// At is when the call came and Done when it was answered, both since the run
	// began.
	At, Done time.Duration
}

// Fault is a process killed or frozen, or a server taken away from it.
type Fault struct {
	// By is the process that it befell, empty for all.
	By string
	At time.Duration
}

// History is one run.
type History struct {
	// Calls are in the order in which the platform took them.
	Calls  []Call
	Faults []Fault
	// Confirm bounds the time from the platform's answer until the receipt of it is
	// safe, and the time from a call's start until it arrives. A call counts as in
	// flight from that long before its arrival until that long after its answer.
	Confirm time.Duration
	// Late counts the calls whose answer came too late for their caller, as the
	// callers say: it may have died of nothing but a slow machine. So many repeats
	// need no fault.
	Late int
}

// window is how many of a chat's last sends can be in doubt at once: the one whose
// receipt is on its way, and the one that was called meanwhile.
const window = 2

// Replies checks that every chat got its texts, each once and in order, and
// returns the calls that repeated an earlier one. A repeat is accepted only of a
// send whose last call was in flight when a fault befell its caller, or came too
// late, and only where the order stays plain: it goes back over the last two sends
// at most, and from there on one by one.
//
// The texts of one chat must differ. A chat that want does not name must have got
// nothing. The error joins what is wrong with each chat, a few faults of each.
func Replies(h History, want map[string][]string) (repeats []Call, err error) {
	chats := map[string][]Call{}
	for _, c := range h.Calls {
		chats[c.Chat] = append(chats[c.Chat], c)
	}
	for chat := range want {
		if _, any := chats[chat]; !any {
			chats[chat] = nil
		}
	}
	names := make([]string, 0, len(chats))
	for chat := range chats {
		names = append(names, chat)
	}
	slices.Sort(names)
	var errs, causeless []error
	for _, chat := range names {
		v := replies(h, chats[chat], want[chat])
		repeats = append(repeats, v.repeats...)
		causeless = append(causeless, v.causeless...)
		if len(v.errs) > 0 {
			errs = append(errs, fmt.Errorf("chat %s: %w", chat, joined(v.errs)))
		}
	}
	if len(causeless) > h.Late {
		errs = append(errs, fmt.Errorf("%d repeats without a cause, want at most %d: %w", len(causeless), h.Late, joined(causeless)))
	}
	return repeats, errors.Join(errs...)
}

// verdict is what is to be said of one chat.
type verdict struct {
	repeats   []Call
	causeless []error // of repeats without a fault
	errs      []error
}

func (v *verdict) tell(format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf(format, args...))
}

func replies(h History, calls []Call, want []string) (v verdict) {
	place := make(map[string]int, len(want))
	for i, text := range want {
		place[text] = i
	}
	last := make([]*Call, len(want)) // the last call of each text
	next, at := 0, -1                // the first text not sent yet, the text sent last
	for i := range calls {
		c := &calls[i]
		n, known := place[c.Text]
		switch {
		case !known:
			v.tell("got %q, which nobody is to get", c.Text)
			continue
		case last[n] != nil:
			v.repeat(h, *c, *last[n])
			if n > at+1 || n < next-window {
				v.tell("got %q again after %q", c.Text, want[at])
			}
		case n > next:
			v.tell("got %q before %q", c.Text, want[next])
		case n > at+1:
			v.tell("got %q right after a repeated %q", c.Text, want[at])
		}
		last[n], at, next = c, n, max(next, n+1)
	}
	if lost := missing(want, last); len(lost) > 0 {
		v.tell("got %d of %d texts, want also %s", len(want)-len(lost), len(want), quoted(lost))
	}
	return v
}

// repeat notes that c repeats an earlier call.
func (v *verdict) repeat(h History, c, earlier Call) {
	v.repeats = append(v.repeats, c)
	if !inFlight(h, earlier) {
		v.causeless = append(v.causeless, fmt.Errorf("chat %s: got %q again, by %s at %v, though its call by %s at %v was answered at %v and %s",
			c.Chat, c.Text, c.By, c.At, earlier.By, earlier.At, earlier.Done, fate(h, earlier.By)))
	}
}

// maxTold bounds how much is told of the same.
const maxTold = 5

func joined(errs []error) error {
	if over := len(errs) - maxTold; over > 0 {
		errs = append(errs[:maxTold:maxTold], fmt.Errorf("and %d more", over))
	}
	return errors.Join(errs...)
}

func inFlight(h History, c Call) bool {
	return slices.ContainsFunc(h.Faults, func(f Fault) bool {
		return (f.By == "" || f.By == c.By) && f.At >= c.At-h.Confirm && f.At <= c.Done+h.Confirm
	})
}

// fate tells when faults befell a process.
func fate(h History, by string) string {
	var at []string
	for _, f := range h.Faults {
		if f.By == "" || f.By == by {
			at = append(at, f.At.String())
		}
	}
	if len(at) == 0 {
		return "nothing befell it"
	}
	return "it was hit at " + strings.Join(at, ", ")
}

func missing(want []string, last []*Call) (lost []string) {
	for i, text := range want {
		if last[i] == nil {
			lost = append(lost, text)
		}
	}
	return lost
}

func quoted(texts []string) string {
	var b strings.Builder
	for i, text := range texts {
		if i == maxTold {
			fmt.Fprintf(&b, " and %d more", len(texts)-maxTold)
			break
		}
		fmt.Fprintf(&b, " %q", text)
	}
	return strings.TrimSpace(b.String())
}

// Counts are the replies that a chat gets for n times /count.
func Counts(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("count: %d", i+1)
	}
	return texts
}
