package check_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// step is how far apart values of a series are, and evaluations of a rule.
const step = time.Minute

// series are what Prometheus is asked about: each a line as in its own tests of rules,
// bot_dlq_depth 0x10 2+1x5, with a value for each minute.
type series []*promql.StorageSeries

func parse(t *testing.T, text string) (all series) {
	t.Helper()
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		metric, values, err := promQL.ParseSeriesDesc(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		one := promql.Series{Metric: metric}
		for i, v := range values {
			if !v.Omitted {
				one.Floats = append(one.Floats, promql.FPoint{T: time.UnixMilli(0).Add(time.Duration(i) * step).UnixMilli(), F: v.Value})
			}
		}
		all = append(all, promql.NewStorageSeries(one))
	}
	return all
}

// Querier answers with the series that match.
func (all series) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		return &found{all: slices.DeleteFunc(slices.Clone(all), func(s *promql.StorageSeries) bool {
			return slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Labels().Get(m.Name)) })
		})}
	}}, nil
}

// found is what was found, one after the other.
type found struct {
	all series
	at  storage.Series
}

func (f *found) Next() bool {
	if len(f.all) == 0 {
		return false
	}
	f.at, f.all = f.all[0], f.all[1:]
	return true
}

func (f *found) At() storage.Series                { return f.at }
func (f *found) Err() error                        { return nil }
func (f *found) Warnings() annotations.Annotations { return nil }

// never is when an alert fires that does not.
const never = -1

// fires is the minute in which a rule first fires on series, for any of its results: its
// expression had that result since for= at each evaluation.
func fires(t *testing.T, engine *promql.Engine, a alert, all series, minutes int) int {
	t.Helper()
	var hold time.Duration
	if a.For != "" {
		var err error
		if hold, err = time.ParseDuration(a.For); err != nil {
			t.Fatal(err)
		}
	}
	end := time.UnixMilli(0).Add(time.Duration(minutes) * step)
	q, err := engine.NewRangeQuery(context.Background(), all, nil, a.Expr, time.UnixMilli(0), end, step)
	if err != nil {
		t.Fatalf("%s: %v", a.Alert, err)
	}
	defer q.Close()
	matrix, err := q.Exec(t.Context()).Matrix()
	if err != nil {
		t.Fatalf("%s: %v", a.Alert, err)
	}
	first := never
	for _, result := range matrix {
		since := time.Time{}
		for i, p := range result.Floats {
			at := time.UnixMilli(p.T)
			if i == 0 || at.Sub(time.UnixMilli(result.Floats[i-1].T)) > step {
				since = at
			}
			if minute := int(at.Sub(time.UnixMilli(0)) / step); at.Sub(since) >= hold && (first == never || minute < first) {
				first = minute
			}
		}
	}
	return first
}

// SPEC: W2
func TestAlertsFireWhenTheyShouldAndNotElse(t *testing.T) {
	t.Parallel()
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, Parser: promQL})
	defer engine.Close()
	known := map[string]bool{}
	for _, a := range alerts(t) {
		known[a.Alert] = true
		fired, quiet := false, false
		for what, c := range cases[a.Alert] {
			got := fires(t, engine, a, parse(t, c.series), 60)
			if got != c.want {
				t.Errorf("%s, %s: got it in minute %d, want %d (%d is never)", a.Alert, what, got, c.want, never)
			}
			fired, quiet = fired || c.want != never, quiet || c.want == never
		}
		if !fired || !quiet {
			t.Errorf("%s: got a case where it fires %v, where it does not %v, want both", a.Alert, fired, quiet)
		}
	}
	for name := range cases {
		if !known[name] {
			t.Errorf("got cases of %s, which is no alert", name)
		}
	}
}
