package config

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Rate is how many calls are allowed. The zero Rate says that nothing was set.
type Rate struct {
	text string
	// Every is the time for each call, zero for no limit; Burst is how many may be
	// made at once.
	Every time.Duration
	Burst int
}

// IsSet reports whether a rate was set, off included.
func (r Rate) IsSet() bool { return r.text != "" }

// String is what was set.
func (r Rate) String() string { return r.text }

var errRate = errors.New("must be a number of calls in a time, such as 30/s, 20/m, 1/6s or 30/s+5, or off")

// parseRate reads "30/s", "20/m", "1/6s", each with the burst behind a plus sign (else
// a tenth of the number is), and "off".
func parseRate(text string) (Rate, error) {
	r := Rate{text: text}
	if text == "" || text == "off" {
		return r, nil
	}
	limit, burst, given := strings.Cut(text, "+")
	count, unit, _ := strings.Cut(limit, "/")
	if strings.Trim(unit, "hms") == "" {
		unit = "1" + unit
	}
	n, err := strconv.Atoi(count)
	every, uerr := time.ParseDuration(unit)
	if err != nil || uerr != nil || n < 1 || every < time.Duration(n)*time.Microsecond {
		return Rate{}, errRate
	}
	r.Every, r.Burst = every/time.Duration(n), max(1, n/10)
	if given {
		if r.Burst, err = strconv.Atoi(burst); err != nil || r.Burst < 1 {
			return Rate{}, errRate
		}
	}
	return r, nil
}
