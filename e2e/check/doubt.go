package check

import (
	"fmt"
	"time"
)

// Doubt is what the processes of a run said of the sends they repeated in doubt.
type Doubt struct {
	// Counted is the sum over all processes of each one's in-doubt counter as last read.
	Counted int
	// Read is when each process's counter was last asked for. What it counted after
	// that died with it.
	Read map[string]time.Duration
}

// Repeats checks that no more calls were repeated than were counted in doubt. A
// part is counted before it is called again, so a repeat that came before its
// caller's counter was last asked for must be in the count; one that came later
// can not be, and is left out.
func (d Doubt) Repeats(repeats []Call) error {
	n := 0
	for _, c := range repeats {
		if read, ok := d.Read[c.By]; ok && c.At <= read {
			n++
		}
	}
	if n > d.Counted {
		return fmt.Errorf("got %d sends repeated, want at most the %d that were counted in doubt", n, d.Counted)
	}
	return nil
}
