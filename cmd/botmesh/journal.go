package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/journal"
)

type journalCommand struct {
	Ls     journalList   `cmd:"" help:"List records, without what they say."`
	Show   journalShow   `cmd:"" help:"Show the records of a chat in full."`
	Replay journalReplay `cmd:"" help:"Run a chat's records again from the start: what the demo bot would send now. Nothing is sent or written, but with --deliver."`
}

// filter chooses records.
type filter struct {
	inRange
	Limit int `default:"100" help:"At most so many, from the oldest on."`
	Last  int `help:"The newest so many, in their order, in place of --limit."`
}

// records lists what the journal has, as a worker answers if the settings name one, else as
// the servers do: that needs NATS alone.
func (f filter) records(ctx context.Context, a *app, chat botmesh.ChatKey, whole bool) (all []admin.Record, err error) {
	if f.Limit < 1 || f.Limit > journal.MaxList {
		return nil, config.Wrong(fmt.Errorf("--limit must be 1 to %d", journal.MaxList))
	}
	if f.Last < 0 || f.Last > journal.MaxList {
		return nil, config.Wrong(fmt.Errorf("--last must be 1 to %d", journal.MaxList))
	}
	loaded, err := a.settings(nil)
	if err != nil {
		return nil, err
	}
	if loaded.AdminURL.IsSet() {
		return all, a.withDesk(ctx, func(ctx context.Context, d *desk) error {
			return d.ask(ctx, http.MethodGet, "/v1/journal", f.query(chat, whole), nil, &all)
		})
	}
	want := journal.Filter{Chat: chat, From: f.From, To: f.To, Since: f.Since.Time, Until: f.Until.Time, Limit: f.Limit}
	if f.Last > 0 {
		want.Limit, want.Newest = f.Last, true
	}
	return all, a.withJournal(ctx, func(ctx context.Context, j *journal.Journal, _ config.Config) (err error) {
		all, err = admin.ListRecords(ctx, j, want, whole)
		return err
	})
}

// query is the filter as a worker is asked.
func (f filter) query(chat botmesh.ChatKey, whole bool) url.Values {
	q := url.Values{"limit": {strconv.Itoa(f.Limit)}}
	if f.Last > 0 {
		q = url.Values{"last": {strconv.Itoa(f.Last)}}
	}
	if chat != (botmesh.ChatKey{}) {
		q.Set("chat", chat.String())
	}
	if whole {
		q.Set("text", "1")
	}
	for name, seq := range map[string]uint64{"from": f.From, "to": f.To} {
		if seq > 0 {
			q.Set(name, strconv.FormatUint(seq, 10))
		}
	}
	for name, at := range map[string]time.Time{"since": f.Since.Time, "until": f.Until.Time} {
		if !at.IsZero() {
			q.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	return q
}

type journalList struct {
	output
	filter
	Chat string `help:"Only this chat, as provider/chat or provider/chat/participant."`
}

// Run lists records.
func (c journalList) Run(ctx context.Context, a *app) error {
	var chat botmesh.ChatKey
	if c.Chat != "" {
		var err error
		if chat, err = parseChat(c.Chat); err != nil {
			return err
		}
	}
	all, err := c.records(ctx, a, chat, false)
	if err != nil {
		return err
	}
	return c.show(a.stdout, all, func(w io.Writer) error { return c.table(w, all) })
}

func (c journalList) table(w io.Writer, all []admin.Record) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SEQ\tSTORED\tCHAT\tTYPE\tID") // errors come from Flush
	for _, r := range all {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\n", r.Seq, r.Stored.Format(time.RFC3339), r.Chat, r.Type, strings.TrimSpace(r.ID+" "+r.Error))
	}
	if len(all) == c.Limit && c.Last == 0 {
		fmt.Fprintf(t, "more may follow: --from=%d\n", all[len(all)-1].Seq+1)
	}
	return t.Flush()
}

type journalShow struct {
	output
	filter
	Chat string `arg:"" help:"The chat, as provider/chat or provider/chat/participant."`
}

// Run shows a chat's records.
func (c journalShow) Run(ctx context.Context, a *app) error {
	chat, err := parseChat(c.Chat)
	if err != nil {
		return err
	}
	all, err := c.records(ctx, a, chat, true)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return noRecords(chat)
	}
	return c.show(a.stdout, all, func(w io.Writer) error { return write(w, all) })
}

func write(w io.Writer, all []admin.Record) error {
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintf(&b, "#%d  %s  %s  id %s", r.Seq, r.Stored.Format(time.RFC3339), r.Type, r.ID)
		if r.User != "" {
			fmt.Fprintf(&b, "  user %s", r.User)
		}
		b.WriteByte('\n')
		if r.Error != "" {
			fmt.Fprintf(&b, "    can not be read: %s\n", r.Error)
		}
		indent(&b, "    ", r.Message.Text)
		indent(&b, "    pressed ", r.Message.Payload)
		for _, m := range r.Message.Media {
			fmt.Fprintf(&b, "    %s %s\n", m.Kind, m.Ref)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// indent writes a text's lines, the first after mark, the others below it.
func indent(b *strings.Builder, mark, text string) {
	if text == "" {
		return
	}
	below := "\n" + strings.Repeat(" ", len([]rune(mark)))
	b.WriteString(mark + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", below) + "\n")
}

func parseChat(s string) (botmesh.ChatKey, error) {
	chat, err := botmesh.ParseChatKey(s)
	return chat, config.Wrong(err)
}

func noRecords(chat botmesh.ChatKey) error {
	return errors.New("the journal has no records of " + chat.String())
}
