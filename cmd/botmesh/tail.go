package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/internal/config"
)

const (
	tailPause = time.Second // between two looks
	tailPage  = 500         // events of a kind that are asked for at once
)

type chatsTail struct {
	output
	Chat string `arg:"" optional:"" help:"The chat, as provider/chat or provider/chat/participant; all if not given."`
	Last int    `default:"10" help:"Begin with the newest so many."`
	Text bool   `help:"With what was written."`
}

// Run shows what happens until it is interrupted.
func (c chatsTail) Run(ctx context.Context, a *app) error {
	query := url.Values{"limit": {strconv.Itoa(c.Last)}}
	if c.Chat != "" {
		chat, err := parseChat(c.Chat)
		if err != nil {
			return err
		}
		query.Set("chat", chat.String())
	}
	if c.Text {
		query.Set("text", "1")
	}
	return a.withDesk(ctx, func(ctx context.Context, d *desk) error { return c.follow(ctx, a, d, query) })
}

// follow asks again and again. Who answered once is waited for; an answer that is lost
// loses no event, as the same is asked again.
func (c chatsTail) follow(ctx context.Context, a *app, d *desk, query url.Values) error {
	failing := false
	for {
		var t admin.Tail
		err := d.ask(ctx, http.MethodGet, "/v1/tail", query, nil, &t)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && (config.IsWrong(err) || !query.Has("after")):
			return err
		case err != nil:
			if !failing {
				fmt.Fprintf(a.stderr, "no answer, it goes on when there is one: %v\n", err)
			}
		default:
			query.Set("after", t.After)
			query.Set("limit", strconv.Itoa(tailPage))
			if err := c.write(a.stdout, t.Events); err != nil {
				return err
			}
		}
		if failing = err != nil; t.More {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(tailPause):
		}
	}
}

// write shows events, as JSON one in a line.
func (c chatsTail) write(w io.Writer, events []admin.Event) error {
	if c.Output == "text" {
		return writeEvents(w, events)
	}
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	for _, e := range events {
		if err := lines.Encode(e); err != nil {
			return err
		}
	}
	return nil
}
