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

// reportWebhooks prints how long the ingress takes to answer, beside the bare loop's. The
// error is errOver if that is not within the budget.
func reportWebhooks(out io.Writer, rate int, systems []system, results [][]answers) error {
	fmt.Fprintf(out, "%-20s %9s %9s %9s %9s   %-38s %s\n", fmt.Sprintf("%d webhooks/s", rate), "503", "p50", "p95", "p99",
		"CPU ms a webhook: ingress nats", "load of the machine")
	medians := make([]answers, len(systems))
	for i, s := range systems {
		m := medianAnswers(results[i])
		medians[i] = m
		fmt.Fprintf(out, "  %-18s %9d %9s %9s %9s   %-38s %s\n", s.name, m.refused, brief(m.percentile(50)), brief(m.percentile(95)), brief(m.percentile(99)),
			fmt.Sprintf("%.2f = %.2f + %.2f", ms(m.cpu["ingress"]+m.cpu["nats"]), ms(m.cpu["ingress"]), ms(m.cpu["nats"])), m.load)
	}
	ours, bare := medians[0].percentile(99), medians[1].percentile(99)
	ratio := float64(ours) / float64(bare)
	if ours < budget {
		fmt.Fprintf(out, "  verified and stored: p99 within the budget of %v, %.2f times that of a bare publish\n\n", budget, ratio)
		return nil
	}
	fmt.Fprintf(out, "  verified and stored: p99 over the budget of %v, %.2f times that of a bare publish\n\n", budget, ratio)
	return fmt.Errorf("%w: %d webhooks a second were stored within %s for 99 in 100, want %v; a bare publish took %s with a load of %s: on a busy machine measure again",
		errOver, rate, brief(ours), budget, brief(bare), medians[1].load)
}

// medianAnswers are those of middle p99, of two the better.
func medianAnswers(results []answers) answers {
	sorted := slices.SortedFunc(slices.Values(results), func(a, b answers) int { return cmp.Compare(a.percentile(99), b.percentile(99)) })
	return sorted[(len(sorted)-1)/2]
}
