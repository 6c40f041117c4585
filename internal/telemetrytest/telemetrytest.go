// Package telemetrytest reads what the process of a test measures.
//
// Meters are global and shared by all tests of a process, so a test that reads values
// without a label of its own runs alone, and compares with what was there before it.
package telemetrytest

import (
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// reader reads the process's metrics. A meter takes the first provider for good.
var reader = sync.OnceValue(func() *sdkmetric.ManualReader {
	reader := sdkmetric.NewManualReader()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	return reader
})

// Metrics returns each counter and gauge as it is, and how often each histogram was
// used, with what as its " sum": "bot.dlq.messages{kind=record}", "bot.turn.wait sum".
// What was measured before the process's first call is not in it.
func Metrics(t testing.TB) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader().Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				each(got, m.Name, data.DataPoints)
			case metricdata.Gauge[int64]:
				each(got, m.Name, data.DataPoints)
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					got[m.Name+labels(p.Attributes)] = float64(p.Count)
					got[m.Name+labels(p.Attributes)+" sum"] = p.Sum
				}
			}
		}
	}
	return got
}

func each(got map[string]float64, name string, points []metricdata.DataPoint[int64]) {
	for _, p := range points {
		got[name+labels(p.Attributes)] = float64(p.Value)
	}
}

// labels are written in the order of their keys, none as nothing.
func labels(set attribute.Set) string {
	var all []string
	for _, kv := range set.ToSlice() {
		all = append(all, string(kv.Key)+"="+kv.Value.String())
	}
	if all == nil {
		return ""
	}
	return "{" + strings.Join(all, ",") + "}"
}
