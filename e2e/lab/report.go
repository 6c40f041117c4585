package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/history"
)

// report prints what a run that left its evidence in a directory did, and what it
// proved.
func report(to io.Writer, title, dir string, e check.Evidence, v check.Verdict) {
	fmt.Fprintf(to, "\n%s\n", title)
	if len(v.Findings) == 0 {
		fmt.Fprintln(to, "  nothing was judged")
		return
	}
	t := v.Tally
	fmt.Fprintf(to, "  %d webhooks to %d chats, %d of them again; %d records, %d checkpoints, %d letters of %d parts; users saw %d, %d again\n",
		t.Webhooks, t.Chats, t.Duplicates, t.Records, t.Revisions, t.Letters, t.Parts, t.Visible, t.Repeats)
	fmt.Fprintf(to, "  %d sends of backends, %d of them again; %d timers took effect, %d were taken back, %d fired when they counted no more\n",
		t.Orders, t.OrdersAgain, t.Timers, t.Disarmed, t.LateTimers)
	fmt.Fprintf(to, "  %d turns, %d taken over; %d commits refused, %d writes without an answer, %d acknowledgements, %d dead letters, %d standstills\n",
		t.Grants, t.TakeOvers, t.Conflicts, t.Unknowns, t.Acks, t.Dead, t.Stalls)
	faults(to, e.Events)
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, f := range v.Findings {
		fmt.Fprintf(table, "  %s\t%s\t%d looked at\t%s\n", f.ID, f.What, f.Checked, said(len(f.Violations)))
	}
	table.Flush()
	if err := tell(to, dir, e, v); err != nil {
		fmt.Fprintf(to, "  %v\n", err)
	}
}

// failed is the short form of what a report tells, nil if all held.
func failed(what string, v check.Verdict) error {
	broken := 0
	for _, f := range v.Findings {
		if len(f.Violations) > 0 {
			broken++
		}
	}
	switch {
	case broken > 0:
		return fmt.Errorf("%s: %d promises were broken", what, broken)
	case len(v.Vacuous) > 0:
		return fmt.Errorf("%s: nothing was proved in %d ways", what, len(v.Vacuous))
	}
	return nil
}

func said(violations int) string {
	if violations == 0 {
		return "held"
	}
	return fmt.Sprintf("BROKEN %d times", violations)
}

// faults prints each fault with what was seen of it.
func faults(to io.Writer, events []history.Event) {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	defer table.Flush()
	ops := history.Operations(events, history.Fault)
	if len(ops) == 0 {
		return
	}
	start := events[0].T
	for _, op := range ops {
		effect := op.Result.Effect
		switch {
		case op.Result.Error != "":
			effect = "COULD NOT BE DONE: " + op.Result.Error
		case effect == "":
			effect = "NOTHING WAS SEEN OF IT"
		}
		fmt.Fprintf(table, "  %5.1fs\t%s\t%s\t%v\t%s\n", time.Duration(op.Call.T-start).Seconds(), op.Call.ID, op.Call.Target,
			time.Duration(op.Until()-op.Call.T).Round(100*time.Millisecond), effect)
	}
}
