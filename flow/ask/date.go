package ask

import (
	"fmt"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
)

// Day is a day of the calendar, in no time zone. The zero Day is none. Encoded it is
// "2026-12-24".
type Day struct {
	Year  int
	Month time.Month
	Day   int
}

// DayOf is the day that t is on, in t's time zone.
func DayOf(t time.Time) Day {
	y, m, d := t.Date()
	return Day{y, m, d}
}

// In is midnight of d in a time zone.
func (d Day) In(zone *time.Location) time.Time {
	return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, zone)
}

// Before reports whether d is an earlier day than other.
func (d Day) Before(other Day) bool { return d.In(time.UTC).Before(other.In(time.UTC)) }

// String writes d as "2026-12-24", and the zero Day as nothing.
func (d Day) String() string {
	if d == (Day{}) {
		return ""
	}
	return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day)
}

// MarshalText writes [Day.String].
func (d Day) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads [Day.String].
func (d *Day) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = Day{}
		return nil
	}
	t, err := time.Parse(time.DateOnly, string(text))
	if err != nil {
		return fmt.Errorf("ask: %q is not a day: %w", text, err)
	}
	*d = DayOf(t)
	return nil
}

// DateQuestion takes a day of the calendar.
type DateQuestion struct {
	from, to   Day // zero for no bound
	monthFirst bool
}

// Date takes a day: "2026-12-24", "24.12.2026", "24/12/2026", "24 Dec 2026",
// "December 24, 2026".
func Date() DateQuestion { return DateQuestion{} }

// MonthFirst reads 12/24/2026, as Americans write it.
func (q DateQuestion) MonthFirst() DateQuestion {
	q.monthFirst = true
	return q
}

// Between bounds the day; both ends are allowed, and a zero Day is no bound. A bound
// that moves, such as today, is for the handler, which has the time of its turn.
func (q DateQuestion) Between(from, to Day) DateQuestion {
	q.from, q.to = from, to
	return q
}

// Parse reads an answer.
func (q DateQuestion) Parse(m botmesh.Message) (Day, error) {
	slashes := "2/1/2006"
	if q.monthFirst {
		slashes = "1/2/2006"
	}
	text := strings.Join(strings.Fields(strings.ReplaceAll(m.Text, ",", " ")), " ")
	for _, layout := range []string{
		time.DateOnly, "2006/1/2", "2.1.2006", "2. 1. 2006", slashes, "2-1-2006",
		"2 Jan 2006", "2 January 2006", "Jan 2 2006", "January 2 2006",
	} {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if d := DayOf(t); q.from == (Day{}) || !d.Before(q.from) {
			if q.to == (Day{}) || !q.to.Before(d) {
				return d, nil
			}
		}
		break
	}
	switch {
	case q.from != Day{} && q.to != Day{}:
		return Day{}, hint("Please send a date from %s to %s.", q.from, q.to)
	case q.from != Day{}:
		return Day{}, hint("Please send a date from %s on.", q.from)
	case q.to != Day{}:
		return Day{}, hint("Please send a date up to %s.", q.to)
	}
	return Day{}, hint("Please send a date, such as 2026-12-24.")
}

// Spec is "date".
func (DateQuestion) Spec() string { return "date" }

// Buttons is nil.
func (DateQuestion) Buttons() [][]botmesh.Button { return nil }

// Validate says whether the bounds leave a day.
func (q DateQuestion) Validate() error {
	if q.from != (Day{}) && q.to != (Day{}) && q.to.Before(q.from) {
		return fmt.Errorf("ask: no day is in %s to %s", q.from, q.to)
	}
	return nil
}
