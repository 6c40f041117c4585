package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/botmesh-go/botmesh/admin"
)

type leasesCommand struct {
	Ls    leasesList  `cmd:"" help:"List who holds what, since when, and who waits for it."`
	Break leasesBreak `cmd:"" help:"Take a turn, a leadership or a lock from who holds it. Without --fence it shows what would be done."`
}

type leasesList struct {
	output
	Kind  string `help:"Only those of a kind: turn, lead, lock."`
	Limit int    `default:"100" help:"The first so many: what is held longest comes first."`
}

// Run lists leases.
func (c leasesList) Run(ctx context.Context, a *app) error {
	query := url.Values{"limit": {fmt.Sprint(c.Limit)}}
	if c.Kind != "" {
		query.Set("kind", c.Kind)
	}
	return a.withDesk(ctx, func(ctx context.Context, d *desk) error {
		var all []admin.Lease
		if err := d.ask(ctx, http.MethodGet, "/v1/leases", query, nil, &all); err != nil {
			return err
		}
		return c.show(a.stdout, all, func(w io.Writer) error { return writeLeases(w, all) })
	})
}

func writeLeases(w io.Writer, all []admin.Lease) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KIND\tKEY\tHOLDER\tHELD FOR\tLEFT\tFENCE\tIN LINE\tDEATHS") // errors come from Flush
	for _, l := range all {
		holder, left := orNobody(l.Holder), "-"
		if l.Holder != "" {
			left = l.Left.Round(100 * time.Millisecond).String()
		}
		if l.Gone {
			holder += " (gone)"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\n", l.Kind, l.Key, holder, age(l.Since), left, l.Fence, len(l.Line), l.Deaths)
	}
	return t.Flush()
}

type leasesBreak struct {
	acting
	Kind  string `arg:"" enum:"turn,lead,lock" help:"turn, lead or lock."`
	Key   string `arg:"" help:"The chat of a turn, as provider/chat or provider/chat/participant; else the name, as leases ls has it."`
	Fence uint64 `help:"The fence that it is held under, as leases ls has it. Who holds it later is left alone."`
}

// Run takes a lease away.
func (c leasesBreak) Run(ctx context.Context, a *app) error {
	return c.act(ctx, a, "/v1/leases/break", map[string]any{"kind": c.Kind, "key": c.Key, "fence": c.Fence})
}
