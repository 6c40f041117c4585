package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/platform"
	"github.com/botmesh-go/botmesh/e2e/proc"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

func results(rate float64, cpu time.Duration) []result {
	r := result{
		rate: rate, p50: 2 * cpu, p95: 3 * cpu, p99: 4 * cpu,
		cpu:  map[string]time.Duration{"worker": cpu, "nats": cpu},
		peak: map[string]int64{"worker": 10 << 20, "nats": 20 << 20},
	}
	slow, fast := r, r
	slow.rate, fast.rate = rate/2, rate*2
	return []result{fast, slow, r}
}

func TestReportComparesMedians(t *testing.T) {
	t.Parallel()
	systems := []system{{name: "botmesh"}, {name: "bare loop"}}
	tests := map[string]struct {
		workload   workload
		ours, bare float64
		says       string
	}{
		"fit machine":  {workload{name: "w"}, 3000, 4000, "0.75 of its replies a second, 0.50 of its replies for the same CPU, 2.00 times its p50\n"},
		"slow machine": {workload{name: "w"}, 1500, 2000, "(not comparable: the bare loop did under 3000 a second)\n"},
		"paced":        {workload{name: "w", rate: 50}, 50, 50, "1.00 of its replies a second, 0.50 of its replies for the same CPU, 2.00 times its p50\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			report(&out, tt.workload, systems, [][]result{results(tt.ours, 2*time.Millisecond), results(tt.bare, time.Millisecond)})
			for _, want := range []string{tt.says, "4.00 = 0.00 + 2.00 + 2.00 + 0.00", "30 = 0 + 10 + 20 + 0", "4ms"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("got\n%s\nwant it to say %q", out.String(), want)
				}
			}
		})
	}
}

func TestResultMeasuresBetweenTwoTimes(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	posted := map[string][]time.Duration{"7": {0, 10 * ms, 20 * ms, 30 * ms}}
	var calls []check.Call
	for i, p := range posted["7"] {
		calls = append(calls, check.Call{Chat: "7", Text: check.Counts(4)[i], At: p + time.Duration(i+1)*ms})
	}
	before := map[string]proc.Usage{"worker": {CPU: 100 * ms}}
	after := map[string]proc.Usage{"worker": {CPU: 120 * ms, Peak: 5}}

	r, err := summarize(calls, posted, 10*ms, 25*ms, before, after)
	if err != nil {
		t.Fatal(err)
	}
	if r.rate < 133 || r.rate > 134 || r.p50 != 2*ms || r.p99 != 2*ms || r.cpu["worker"] != 10*ms || r.peak["worker"] != 5 {
		t.Errorf("got %+v, want two replies in 15 ms, after 2 and 3 ms, of 10 ms each", r)
	}

	for name, broken := range map[string][]check.Call{
		"lost":    calls[:3],
		"doubled": append(calls[:4:4], calls[3]),
		"swapped": {calls[1], calls[0], calls[2], calls[3]},
	} {
		if _, err := summarize(broken, posted, 0, time.Second, before, after); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
	}
}

func TestReportOfWebhooksKeepsTheBudget(t *testing.T) {
	t.Parallel()
	of := func(all ...time.Duration) (results []answers) {
		for _, d := range all {
			results = append(results, answers{took: slices.Repeat([]time.Duration{d * time.Millisecond}, 100), refused: int(d),
				cpu: map[string]time.Duration{"ingress": time.Millisecond, "nats": 2 * time.Millisecond}, load: "0.50 to 1.25"})
		}
		return results
	}
	systems := []system{{name: "botmesh"}, {name: "bare loop"}}
	for want, ours := range map[string][]answers{
		"p99 within the budget of 50ms, 1.96 times that of a bare publish": of(90, 49, 10),
		"p99 over the budget of 50ms, 2.00 times that of a bare publish":   of(50),
	} {
		var out strings.Builder
		err := reportWebhooks(&out, 1000, systems, [][]answers{ours, of(25)})
		if over := strings.Contains(want, "over"); errors.Is(err, errOver) != over || err != nil && !over {
			t.Errorf("%s: got error %v, want one %t", want, err, over)
		}
		for _, want := range []string{want, "1000 webhooks/s", "3.00 = 1.00 + 2.00", "0.50 to 1.25"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("got\n%s\nwant it to say %q", out.String(), want)
			}
		}
	}
}

// A webhook's time counts from when it was due: what the driver or an ingress that
// stands still holds up is seen.
func TestWebhooksArePostedWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	ingress := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1)%4 == 0 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer ingress.Close()
	p, err := platform.Start(platform.Config{API: telegramtest.New(token), Token: token, Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	begin := time.Now()
	a, err := postAll(t.Context(), p, []string{ingress.URL}, 200, 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took < 195*time.Millisecond || n.Load() != 40 || len(a.took) != 30 || a.refused != 10 {
		t.Errorf("got %d posts in %v, %d taken and %d refused, want 40 in 195ms or more, 30 and 10", n.Load(), took, len(a.took), a.refused)
	}
	ingress.Close()
	if _, err := postAll(t.Context(), p, []string{ingress.URL}, 10, 200*time.Millisecond); err == nil {
		t.Error("got no error without an ingress, want one")
	}
}
