package fleet

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const exposition = `# HELP bot_outbox_in_doubt_total Parts.
# TYPE bot_outbox_in_doubt_total counter
bot_outbox_in_doubt_total{bot_provider="telegram",otel_scope_name="x"} 3
bot_outbox_in_doubt_total{bot_provider="web}chat",otel_scope_name="x"} 4
bot_lease_lost_total{my_reason="stalled",reason="expired"} 1
bot_lease_lost_total{reason="stalled"} 2
go_goroutines 12
stamped 1.5e+3 1700000000000
`

func TestMetricsAddsUpTheSeriesOfAName(t *testing.T) {
	t.Parallel()
	m, err := parseMetrics(exposition)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		labels []string
		want   float64
	}{
		{inDoubt, nil, 7},
		{inDoubt, []string{`bot_provider="telegram"`}, 3},
		{inDoubt, []string{`bot_provider="web}chat"`, `otel_scope_name="x"`}, 4},
		{inDoubt, []string{`bot_provider="none"`}, 0},
		{"bot_lease_lost_total", []string{`reason="stalled"`}, 2},
		{"go_goroutines", nil, 12},
		{"stamped", nil, 1500},
		{"absent", nil, 0},
	}
	for _, tt := range tests {
		if got := m.Sum(tt.name, tt.labels...); got != tt.want {
			t.Errorf("%s%v: got %g, want %g", tt.name, tt.labels, got, tt.want)
		}
	}
}

func TestMetricsRefusesWhatIsNoMetric(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"alone", `named{a="b"}`, "word value"} {
		if m, err := parseMetrics(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, m)
		}
	}
}

func TestStatusNamesTheChatsWhoseTurnIsHeld(t *testing.T) {
	t.Parallel()
	s := Status{Lanes: []Lane{{"telegram/1", "running"}, {"telegram/2", "waiting"}, {"telegram/3", "delivering"}}}
	if diff := cmp.Diff([]string{"telegram/1", "telegram/3"}, s.Holding()); diff != "" {
		t.Error(diff)
	}
}
