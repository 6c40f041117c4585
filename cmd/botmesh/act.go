package main

import (
	"cmp"
	"context"
	"encoding/json"
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

// acting is the choice of every command that acts.
type acting struct {
	output
	DryRun bool   `help:"Show what would be done, and do nothing."`
	As     string `help:"Who does it, for the log of acts; the user and host of this process if not set."`
}

// act asks for an act, and shows what was done.
func (c acting) act(ctx context.Context, a *app, path string, body any) error {
	return a.withDesk(ctx, func(ctx context.Context, d *desk) error {
		did, err := c.do(ctx, d, path, body)
		if err != nil {
			return err
		}
		return c.show(a.stdout, did, func(w io.Writer) error { return writeDid(w, did) })
	})
}

// do asks for an act.
func (c acting) do(ctx context.Context, d *desk, path string, body any) (did admin.Did, err error) {
	query := url.Values{}
	if c.DryRun {
		query.Set("dry_run", "1")
	}
	if c.As != "" {
		d.actor = c.As
	}
	err = d.ask(ctx, http.MethodPost, path, query, body, &did)
	return did, err
}

func writeDid(w io.Writer, did admin.Did) error {
	word := "done: "
	switch {
	case did.Unchanged:
		_, err := fmt.Fprintf(w, "nothing to do: %s\n  is so   %s\n", described(did.Act), did.Now)
		return err
	case did.DryRun:
		word = "would be done: "
	}
	// A worker of an older build has no words for it.
	_, err := fmt.Fprintf(w, "%s%s\n  before  %s\n  after   %s\n", word, described(did.Act), cmp.Or(did.Was, string(did.Before)), cmp.Or(did.Now, string(did.After)))
	return err
}

// described is an act in one line.
func described(a acts.Act) string {
	words := []string{a.Verb}
	if a.Chat != nil {
		words = append(words, a.Chat.String())
	}
	if a.Of != "" {
		words = append(words, a.Of)
	}
	return strings.Join(words, " ")
}

type actsCommand struct {
	Ls actsList `cmd:"" help:"List what operators did: who, when, what."`
}

type actsList struct {
	output
	Chat  string `help:"Only to this chat, as provider/chat or provider/chat/participant."`
	Limit int    `default:"100" help:"The newest so many."`
}

// Run lists what operators did.
func (c actsList) Run(ctx context.Context, a *app) error {
	query := url.Values{"limit": {strconv.Itoa(c.Limit)}}
	if c.Chat != "" {
		chat, err := parseChat(c.Chat)
		if err != nil {
			return err
		}
		query.Set("chat", chat.String())
	}
	return a.withDesk(ctx, func(ctx context.Context, d *desk) error {
		var all []acts.Act
		if err := d.ask(ctx, http.MethodGet, "/v1/acts", query, nil, &all); err != nil {
			return err
		}
		return c.show(a.stdout, all, func(w io.Writer) error {
			t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "AT\tBY\tWHAT") // errors come from Flush
			for _, act := range all {
				fmt.Fprintf(t, "%s\t%s\t%s\n", act.At.UTC().Format(time.RFC3339), act.By, strings.TrimSpace(described(act)+why(act)+" "+act.Failed))
			}
			return t.Flush()
		})
	})
}

// why is the reason that an act was given, if it was.
func why(a acts.Act) string {
	var after struct{ Reason string }
	if json.Unmarshal(a.After, &after) != nil || after.Reason == "" {
		return ""
	}
	return ": " + after.Reason
}

// onChat acts on a chat.
type onChat struct {
	acting
	Chat string `arg:"" help:"The chat, as provider/chat or provider/chat/participant."`
}

func (c onChat) at(ctx context.Context, a *app, page string, body any) error {
	chat, err := parseChat(c.Chat)
	if err != nil {
		return err
	}
	return c.act(ctx, a, chatPath(chat, page), body)
}

// stopping is what there is to say of a stop.
type stopping struct {
	Reason string `help:"Why, for those who look." json:"reason"`
	New    bool   `help:"Also a chat that nobody knows, as it has not written yet." json:"new,omitempty"`
}

type chatsPause struct {
	onChat
	stopping
}

// Run pauses a chat.
func (c chatsPause) Run(ctx context.Context, a *app) error {
	return c.at(ctx, a, "/pause", c.stopping)
}

type chatsResume struct {
	onChat
	AskAgain   bool `xor:"how" help:"Pass over what the user wrote, and ask the open question again. The default."`
	Skip       bool `xor:"how" help:"Pass over what the user wrote, and wait for the next message."`
	AnswerLast bool `xor:"how" help:"Answer the last message alone."`
	Forget     bool `xor:"how" help:"Pass over what the user wrote, and forget what is kept of the chat: its conversation and the values of handlers."`
}

// Run ends a pause.
func (c chatsResume) Run(ctx context.Context, a *app) error {
	how := admin.AskAgain
	switch {
	case c.Skip:
		how = admin.Skip
	case c.AnswerLast:
		how = admin.AnswerLast
	case c.Forget:
		how = admin.Forget
	}
	return c.at(ctx, a, "/resume", map[string]string{"how": how})
}
