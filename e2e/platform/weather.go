package platform

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Weather is what one call of the API meets. The zero value is good weather.
type Weather struct {
	// Status is answered in place of the API's own answer, and the call is not
	// taken; zero for none. RetryAfter is told with it, in whole seconds, if not zero.
	Status     int
	RetryAfter time.Duration
	// Taken has the call taken all the same, before that answer.
	Taken bool
	// Lose has the call taken, and nothing answered until the caller goes away.
	Lose bool
	// Delay is added to what each call takes.
	Delay time.Duration
}

// hides says whether the API's own answer is kept from the caller.
func (w Weather) hides() bool { return w.Lose || w.Status != 0 }

// Weather has f decide what each call meets from now on, by the id of its chat; nil
// for good weather. It is called for several calls at once.
func (p *Platform) Weather(f func(chat string) Weather) {
	if f == nil {
		f = func(string) Weather { return Weather{} }
	}
	p.weather.Store(&f)
}

// refuse answers with the weather's status, in the platform's words.
func (w Weather) refuse(to http.ResponseWriter) {
	seconds := strconv.Itoa(int(w.RetryAfter / time.Second))
	to.Header().Set("Content-Type", "application/json")
	if w.RetryAfter > 0 {
		to.Header().Set("Retry-After", seconds)
		seconds = `,"parameters":{"retry_after":` + seconds + `}`
	} else {
		seconds = ""
	}
	to.WriteHeader(w.Status)
	fmt.Fprintf(to, `{"ok":false,"error_code":%d,"description":%q%s}`, w.Status, http.StatusText(w.Status), seconds)
}

// hidden takes an answer and keeps it from the caller.
type hidden struct{ header http.Header }

func (h hidden) Header() http.Header       { return h.header }
func (hidden) Write(b []byte) (int, error) { return len(b), nil }
func (hidden) WriteHeader(int)             {}
