package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/internal/config"
)

type dlqCommand struct {
	Ls      dlqList    `cmd:"" help:"List dead letters, each with its reason and age, without what they say."`
	Show    dlqShow    `cmd:"" help:"Show a dead letter in full."`
	Requeue dlqRequeue `cmd:"" help:"Put dead letters back, each as a new record at the end of its chat."`
	Drop    dlqDrop    `cmd:"" help:"Remove dead letters for good."`
}

// deadFilter chooses dead letters.
type deadFilter struct {
	Chat  string `help:"Only this chat's, as provider/chat or provider/chat/participant."`
	Kind  string `enum:",record,send" default:"" help:"Only records that kept failing (record), or parts that the platform will not take (send)."`
	Limit int    `default:"100" help:"At most so many, from the oldest on."`
}

func (f deadFilter) list(ctx context.Context, d *desk) (all []admin.Dead, err error) {
	query := url.Values{"limit": {strconv.Itoa(f.Limit)}, "kind": {f.Kind}}
	if f.Chat != "" {
		chat, err := parseChat(f.Chat)
		if err != nil {
			return nil, err
		}
		query.Set("chat", chat.String())
	}
	return all, d.ask(ctx, http.MethodGet, "/v1/dead", query, nil, &all)
}

type dlqList struct {
	output
	deadFilter
}

// Run lists dead letters.
func (c dlqList) Run(ctx context.Context, a *app) error {
	return a.withDesk(ctx, func(ctx context.Context, d *desk) error {
		all, err := c.list(ctx, d)
		if err != nil {
			return err
		}
		return c.show(a.stdout, all, func(w io.Writer) error {
			t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "SEQ\tAGE\tKIND\tCHAT\tTRIES\tOF\tREASON") // errors come from Flush
			for _, l := range all {
				fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%d\t%s\t%s\n", l.Seq, age(l.At), l.Kind, l.Chat, l.Tries, l.Of, l.Error)
			}
			return t.Flush()
		})
	})
}

type dlqShow struct {
	output
	Seq uint64 `arg:"" help:"The dead letter, as dlq ls numbers it."`
}

// Run shows a dead letter.
func (c dlqShow) Run(ctx context.Context, a *app) error {
	return a.withDesk(ctx, func(ctx context.Context, d *desk) error {
		var l admin.Dead
		if err := d.ask(ctx, http.MethodGet, deadPath(c.Seq, ""), nil, nil, &l); err != nil {
			return err
		}
		return c.show(a.stdout, l, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%d  %s  %s  set aside %s after %d tries\n  of      %s %s\n  id      %s\n  trace   %s\n  says    %s\n  reason  %s\n",
				l.Seq, l.Kind, l.Chat, l.At.Format(time.RFC3339), l.Tries, l.Type, l.Of, l.ID, l.Trace, l.Text, l.Error)
			return err
		})
	})
}

func deadPath(seq uint64, more string) string {
	return "/v1/dead/" + strconv.FormatUint(seq, 10) + more
}

// deadActing acts on dead letters: those that are named, or all of a filter.
type deadActing struct {
	acting
	deadFilter
	Seq []uint64 `arg:"" optional:"" help:"The dead letters, as dlq ls numbers them."`
	All bool     `help:"All that the other flags choose, up to the limit. Without --yes it shows what would be done."`
	Yes bool     `help:"Act on all of --all."`
}

// each acts on one after the other, and shows what was done, also if the next one failed.
// What a name does an operator can foresee; what --all chooses has to be seen first.
func (c deadActing) each(ctx context.Context, a *app, verb string) error {
	if c.All == (len(c.Seq) > 0) {
		return config.Wrong(errors.New("name the dead letters, or give --all"))
	}
	unsure := c.All && !c.Yes && !c.DryRun
	c.DryRun = c.DryRun || unsure
	return a.withDesk(ctx, func(ctx context.Context, d *desk) error {
		if c.All {
			found, err := c.list(ctx, d)
			if err != nil {
				return err
			}
			for _, l := range found {
				c.Seq = append(c.Seq, l.Seq)
			}
		}
		all := []admin.Did{}
		var failed error
		for _, seq := range c.Seq {
			did, err := c.do(ctx, d, deadPath(seq, verb), nil)
			if err != nil {
				failed = err
				break
			}
			all = append(all, did)
		}
		err := c.show(a.stdout, all, func(w io.Writer) (err error) {
			for _, did := range all {
				err = errors.Join(err, writeDid(w, did))
			}
			if len(c.Seq) == 0 {
				_, err = fmt.Fprintln(w, "nothing to do: there is no dead letter of that kind")
			}
			return err
		})
		if failed == nil && unsure && len(all) > 0 {
			failed = config.Wrong(fmt.Errorf("that is what would be done, to %d dead letters: say --yes", len(all)))
		}
		return errors.Join(err, failed)
	})
}

type dlqRequeue struct{ deadActing }

// Run puts dead letters back.
func (c dlqRequeue) Run(ctx context.Context, a *app) error { return c.each(ctx, a, "/requeue") }

type dlqDrop struct{ deadActing }

// Run removes dead letters.
func (c dlqDrop) Run(ctx context.Context, a *app) error { return c.each(ctx, a, "/drop") }
