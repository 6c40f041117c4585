package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/admin"
)

type outboxCommand struct {
	Ls      outboxList    `cmd:"" help:"List the chats with letters that are not delivered, parts that are held, or sends that an operator holds back."`
	Retry   outboxRetry   `cmd:"" help:"Try now what was put off."`
	Hold    outboxHold    `cmd:"" help:"Hold back what is sent to a chat; its records are run."`
	Release outboxRelease `cmd:"" help:"Send what was held back, or a part that may have reached the platform."`
	Drop    outboxDrop    `cmd:"" help:"Leave a part unsent that is held since it may have reached the platform."`
}

type outboxList struct {
	output
	Chat  string `help:"Only this chat, as provider/chat or provider/chat/participant."`
	Limit int    `default:"1000" help:"How many chats are shown at most."`
}

// Run lists chats with something unsent.
func (c outboxList) Run(ctx context.Context, a *app) error {
	query := url.Values{}
	if c.Chat != "" {
		chat, err := parseChat(c.Chat)
		if err != nil {
			return err
		}
		query.Set("chat", chat.String())
	}
	return a.withDesk(ctx, func(ctx context.Context, d *desk) error {
		all, more, err := unsentOf(ctx, d, query, c.Limit)
		if err != nil {
			return err
		}
		return c.show(a.stdout, all, func(w io.Writer) error { return writeUnsent(w, all, more) })
	})
}

// unsentOf reads page after page until it has so many chats, and whether there are more.
func unsentOf(ctx context.Context, d *desk, query url.Values, limit int) (all []admin.Unsent, more bool, err error) {
	all, seen := []admin.Unsent{}, map[string]bool{}
	for {
		var page admin.OutboxPage
		if err := d.ask(ctx, http.MethodGet, "/v1/outbox", query, nil, &page); err != nil {
			return nil, false, err
		}
		for _, u := range page.Chats {
			if seen[u.Chat] {
				continue
			}
			if len(all) == limit {
				return all, true, nil
			}
			seen[u.Chat], all = true, append(all, u)
		}
		if page.Next == 0 {
			return all, false, nil
		}
		query.Set("from", strconv.FormatUint(page.Next, 10))
	}
}

func writeUnsent(w io.Writer, all []admin.Unsent, more bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CHAT\tLETTERS\tOLDEST\tCALLS IN VAIN\tNOT BEFORE") // errors come from Flush
	for _, u := range all {
		when := "-"
		if time.Now().Before(u.NotBefore) {
			when = u.NotBefore.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%d\t%s\n", u.Chat, u.Waiting, age(u.Oldest), u.Tries, when)
		if p := u.Pause; p != nil {
			word := "the chat is paused"
			if p.Scope == acts.Delivery {
				word = "held back"
			}
			fmt.Fprintln(t, strings.TrimRight(fmt.Sprintf("  %s by %s since %s: %s", word, p.By, p.Since.UTC().Format(time.RFC3339), p.Reason), ": "))
		}
		for _, h := range u.Held {
			fmt.Fprintf(t, "  held since %s, it may have been sent: %s %s\n", h.At.UTC().Format(time.RFC3339), h.Part, h.Error)
		}
	}
	if more {
		fmt.Fprintf(t, "there are more: botmesh outbox ls --limit=%d\n", 10*len(all))
	}
	return t.Flush()
}

type outboxRetry struct{ onChat }

// Run has a chat's letters tried now.
func (c outboxRetry) Run(ctx context.Context, a *app) error { return c.at(ctx, a, "/retry", nil) }

type outboxHold struct {
	onChat
	stopping
}

// Run holds back what is sent to a chat.
func (c outboxHold) Run(ctx context.Context, a *app) error {
	return c.at(ctx, a, "/hold", c.stopping)
}

type outboxRelease struct {
	onChat
	Part string `help:"A part that is held since it may have reached the platform, as outbox ls --chat names it: it is sent, perhaps again."`
}

// Run sends what is held.
func (c outboxRelease) Run(ctx context.Context, a *app) error {
	return c.at(ctx, a, "/release", map[string]string{"part": c.Part})
}

type outboxDrop struct {
	onChat
	Part string `required:"" help:"The part, as outbox ls --chat names it."`
}

// Run leaves a held part unsent.
func (c outboxDrop) Run(ctx context.Context, a *app) error {
	return c.at(ctx, a, "/drop", map[string]string{"part": c.Part})
}
