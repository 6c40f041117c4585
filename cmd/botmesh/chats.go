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

	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/internal/replay"
)

type chatsCommand struct {
	Ls       chatsList     `cmd:"" help:"List the chats that something is going on with: paused, held, in line, or with records or letters that wait."`
	Show     chatsShow     `cmd:"" help:"Show who holds a chat, since when, what waits and why, and which question is open."`
	Timeline chatsTimeline `cmd:"" help:"Show what happened to a chat, in the order of time, with trace ids."`
	Tail     chatsTail     `cmd:"" help:"Follow what happens to a chat, or to all, until Ctrl-C."`
	Pause    chatsPause    `cmd:"" help:"Stop a chat until it is resumed: nothing is answered or sent, and its timers stand still."`
	Resume   chatsResume   `cmd:"" help:"End the pause of a chat."`
}

type chatsList struct {
	output
	All   bool   `help:"Every chat that has a checkpoint; 5000 are looked at."`
	State string `enum:",paused,unreadable,retrying,held,waiting,unsent,idle" default:"" help:"Only those of a state: paused, unreadable, retrying, held, waiting, unsent, idle."`
	Limit int    `default:"100" help:"The first so many: paused ones, then those that somebody holds, then the others."`
}

// Run lists chats.
func (c chatsList) Run(ctx context.Context, a *app) error {
	query := url.Values{"limit": {strconv.Itoa(c.Limit)}}
	if c.All {
		query.Set("all", "1")
	}
	if c.State != "" {
		query.Set("state", c.State)
	}
	return a.withDesk(ctx, func(ctx context.Context, d *desk) error {
		var all []admin.Chat
		if err := d.ask(ctx, http.MethodGet, "/v1/chats", query, nil, &all); err != nil {
			return err
		}
		return c.show(a.stdout, all, func(w io.Writer) error {
			t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "CHAT\tSTATE\tRECORDS\tOLDEST\tLETTERS\tWHY") // errors come from Flush
			for _, chat := range all {
				fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%d\t%s\n", chat.Chat, chat.State, chat.Records.Waiting, age(chat.Records.Oldest), chat.Outbox.Waiting, chat.Why[0])
			}
			if len(all) == c.Limit {
				fmt.Fprintf(t, "there may be more than %d: see --limit and --state\n", c.Limit)
			}
			return t.Flush()
		})
	})
}

// age is how long ago something was, "-" if never.
func age(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return time.Since(at).Round(time.Second).String()
}

type chatsShow struct {
	output
	Chat string `arg:"" help:"The chat, as provider/chat or provider/chat/participant."`
}

// Run shows a chat.
func (c chatsShow) Run(ctx context.Context, a *app) error {
	chat, err := parseChat(c.Chat)
	if err != nil {
		return err
	}
	return a.withDesk(ctx, func(ctx context.Context, d *desk) error {
		var found admin.Chat
		if err := d.ask(ctx, http.MethodGet, chatPath(chat, ""), nil, nil, &found); err != nil {
			return err
		}
		return c.show(a.stdout, found, func(w io.Writer) error { return writeChat(w, found) })
	})
}

func writeChat(w io.Writer, c admin.Chat) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", c.Chat, c.State)
	for _, why := range c.Why {
		fmt.Fprintf(&b, "  %s\n", why)
	}
	if c.Question != nil {
		fmt.Fprintf(&b, "question    %s\n", c.Question.Describe())
	}
	if cp := c.Checkpoint; cp != nil {
		fmt.Fprintf(&b, "checkpoint  revision %d, written %s, cursor %d, state of %d bytes", cp.Revision, cp.Written.Format(time.RFC3339), cp.Cursor, cp.State)
		if cp.By != "" {
			fmt.Fprintf(&b, " by %s", cp.By)
		}
		b.WriteByte('\n')
		for _, t := range cp.Timers {
			fmt.Fprintf(&b, "timer       %s at %s\n", t.Name, t.At.Format(time.RFC3339))
		}
	}
	if t := c.Turn; t != nil {
		fmt.Fprintf(&b, "turn        fence %d, holder %s, before %s\n", t.Fence, orNobody(t.Holder), orNobody(t.Before))
	}
	if o := c.Outbox; o.Last > 0 {
		fmt.Fprintf(&b, "outbox      last letter %d, settled up to %d\n", o.Last, o.Settled)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func orNobody(s string) string {
	if s == "" {
		return "nobody"
	}
	return s
}

type chatsTimeline struct {
	output
	Chat  string        `arg:"" help:"The chat, as provider/chat or provider/chat/participant."`
	Since replay.Moment `help:"Only what happened since this time, such as 2030-01-02T15:04:05Z, or in this last time, such as 1h."`
	Limit int           `default:"100" help:"The newest so many."`
	Text  bool          `help:"With what was written."`
}

// Run shows what happened to a chat.
func (c chatsTimeline) Run(ctx context.Context, a *app) error {
	chat, err := parseChat(c.Chat)
	if err != nil {
		return err
	}
	query := url.Values{"limit": {strconv.Itoa(c.Limit)}}
	if !c.Since.IsZero() {
		query.Set("since", c.Since.UTC().Format(time.RFC3339Nano))
	}
	if c.Text {
		query.Set("text", "1")
	}
	return a.withDesk(ctx, func(ctx context.Context, d *desk) error {
		var events []admin.Event
		if err := d.ask(ctx, http.MethodGet, chatPath(chat, "/timeline"), query, nil, &events); err != nil {
			return err
		}
		return c.show(a.stdout, events, func(w io.Writer) error { return writeEvents(w, events) })
	})
}

func writeEvents(w io.Writer, events []admin.Event) error {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%s  %-8s #%d  ", e.At.Format("2006-01-02T15:04:05.000Z07:00"), e.Kind, e.Seq)
		if e.Chat != "" {
			fmt.Fprintf(&b, "%s  ", e.Chat)
		}
		b.WriteString(e.What)
		for _, more := range []struct{ name, value string }{{"by", e.By}, {"id", e.ID}, {"trace", e.Trace}} {
			if more.value != "" {
				fmt.Fprintf(&b, "  %s %s", more.name, more.value)
			}
		}
		b.WriteByte('\n')
		indent(&b, "    ", e.Text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
