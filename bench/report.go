package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"
)

// comparableRate is the least rate of the bare loop, flat out, at which a machine is
// fit to compare on: below it something else is being measured.
const comparableRate = 3000

// report prints a workload's rows and the ratios of the first system to the second.
func report(out io.Writer, w workload, systems []system, results [][]result) {
	fmt.Fprintf(out, "%-20s %9s %9s %9s %9s   %-38s %-32s %s\n", w.name, "replies/s", "p50", "p95", "p99",
		"CPU ms a reply: ingress worker nats redis", "peak MB: the same", "not counted: the driver's CPU ms")
	medians := make([]result, len(systems))
	for i, s := range systems {
		m := median(results[i])
		medians[i] = m
		fmt.Fprintf(out, "  %-18s %9.0f %9s %9s %9s   %-41s %-32s %.2f\n", s.name, m.rate,
			brief(m.p50), brief(m.p95), brief(m.p99), costs(m), peaks(m), ms(m.driver))
	}
	ours, bare := medians[0], medians[1]
	fmt.Fprintf(out, "  of the bare loop: %.2f of its replies a second, %.2f of its replies for the same CPU, %.2f times its p50",
		ours.rate/bare.rate, cpu(bare)/cpu(ours), float64(ours.p50)/float64(bare.p50))
	if w.rate == 0 && bare.rate < comparableRate {
		fmt.Fprintf(out, " (not comparable: the bare loop did under %d a second)", comparableRate)
	}
	fmt.Fprint(out, "\n\n")
}

// median is the result of middle rate, of two the lower.
func median(results []result) result {
	sorted := slices.SortedFunc(slices.Values(results), func(a, b result) int { return cmp.Compare(a.rate, b.rate) })
	return sorted[(len(sorted)-1)/2]
}

func brief(d time.Duration) string { return d.Round(100 * time.Microsecond).String() }

// cpu is the processor time of all parts for a reply, in milliseconds.
func cpu(r result) (sum float64) {
	for _, part := range parts {
		sum += ms(r.cpu[part])
	}
	return sum
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func costs(r result) string {
	return fmt.Sprintf("%.2f = %.2f + %.2f + %.2f + %.2f", cpu(r), ms(r.cpu["ingress"]), ms(r.cpu["worker"]), ms(r.cpu["nats"]), ms(r.cpu["redis"]))
}

func peaks(r result) string {
	sum, text := int64(0), ""
	for i, part := range parts {
		sum += r.peak[part]
		if i > 0 {
			text += " + "
		}
		text += fmt.Sprint(r.peak[part] >> 20)
	}
	return fmt.Sprintf("%d = %s", sum>>20, text)
}
