package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/devd"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/program"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
)

// desk is who answers a command: a worker, over its private address, or this
// process on the servers of the settings. Both speak the same pages.
type desk struct {
	do    func(*http.Request) (*http.Response, error)
	base  string
	token string
	actor string
}

// withDesk calls do with a worker's API if the settings name one (admin_url), else with
// one of this process, which needs no worker.
func (a *app) withDesk(ctx context.Context, do func(context.Context, *desk) error) error {
	loaded, err := a.settings(nil)
	if err != nil {
		return err
	}
	s := loaded.Config
	if s.AdminURL.IsSet() {
		if !s.AdminToken.IsSet() {
			return config.Wrong(errors.New("BOTMESH_ADMIN_URL is set: BOTMESH_ADMIN_TOKEN is needed too, as the worker has it"))
		}
		ctx, cancel := interruptible(ctx)
		defer cancel()
		return do(ctx, &desk{do: http.DefaultClient.Do, base: strings.TrimSuffix(s.AdminURL.Reveal(), "/"), token: s.AdminToken.Reveal(), actor: program.Operator()})
	}
	return a.withNATS(ctx, func(ctx context.Context, conn *jet.Conn, s config.Config) error {
		return withOwnDesk(ctx, conn, s, do)
	})
}

// withOwnDesk calls do with an API of this process.
func withOwnDesk(ctx context.Context, conn *jet.Conn, s config.Config, do func(context.Context, *desk) error) error {
	rooms, leave, err := openRooms(ctx, conn, s)
	if err != nil {
		return err
	}
	defer leave()
	token := rand.Text()
	api, err := admin.New(admin.Config{Token: token, Journal: rooms.Journal, Rooms: func() *admin.Rooms { return rooms }})
	if err != nil {
		return err
	}
	return do(ctx, &desk{do: admin.Inside(api), token: token, actor: program.Operator()})
}

// ofDev reports whether a connection leads to the server of botmesh dev.
func ofDev(conn *jet.Conn) bool { return conn.NATS().ConnectedServerName() == devd.ServerName }

// devAsked says how to look at the coordination of botmesh dev.
const devAsked = "this NATS is of botmesh dev, which coordinates in its own process, without Redis. " +
	"Ask it: set BOTMESH_ADMIN_URL and BOTMESH_ADMIN_TOKEN_FILE as it says when it starts"

// openRooms opens what the API looks at and acts on. Redis may be away: then nobody can
// say who holds what.
func openRooms(ctx context.Context, conn *jet.Conn, s config.Config) (*admin.Rooms, func(), error) {
	silent := slog.New(slog.DiscardHandler)
	j, err := openJournal(ctx, conn, s)
	if err != nil {
		return nil, nil, err
	}
	o, err := outbox.Open(ctx, outbox.Config{Stream: conn.Stream(outbox.StreamName(s.Bot)), Bot: s.Bot})
	if err != nil {
		return nil, nil, err
	}
	cfg := acts.Config{Stream: conn.Stream(acts.StreamName(s.Bot)), Bot: s.Bot}
	log, err := acts.NewLog(cfg)
	if err != nil {
		return nil, nil, err
	}
	pauses, err := acts.OpenPauses(ctx, acts.PausesConfig{Config: cfg})
	if errors.Is(err, botmesh.ErrRefused) {
		err = fmt.Errorf("%w: a bot of an older build has no stream of acts: run botmesh streams apply", err)
	}
	if err != nil {
		return nil, nil, err
	}
	rooms := &admin.Rooms{
		Coordination: engine.NameRedis(s),
		Journal:      j, Store: natsstore.New(conn.Stream(natsstore.Stream(s.Bot, s.Replicas).Name), s.Bot), Outbox: o, Acts: log, Pauses: pauses,
	}
	if ofDev(conn) {
		rooms.Coordination = devAsked
		return rooms, func() {}, nil
	}
	engine.LogRedis(silent)
	redis, err := engine.DialRedis(ctx, s, silent)
	if err != nil {
		return nil, nil, err
	}
	c, err := redis.New()
	if err != nil {
		return nil, nil, errors.Join(err, redis.Close())
	}
	rooms.Turns, _ = coord.As[admin.Turns](c)
	return rooms, func() { _ = errors.Join(c.Close(context.WithoutCancel(ctx)), redis.Close()) }, nil // nothing was held
}

// ask makes a request and reads the answer into out.
func (d *desk) ask(ctx context.Context, method, path string, query url.Values, body, out any) error {
	var content io.Reader = http.NoBody
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(data)
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, d.base+path, content)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+d.token)
	r.Header.Set(admin.ActorHeader, d.actor)
	resp, err := d.do(r)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // which has the address once more
		}
		return fmt.Errorf("no worker answers at %s (BOTMESH_ADMIN_URL): %w", d.base, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 == 2 {
		if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
			return fmt.Errorf("what %s (BOTMESH_ADMIN_URL) answers can not be read, is it a worker of this version? %w", d.base, err)
		}
		return nil
	}
	return d.refused(resp)
}

// refused says why a request was not answered.
func (d *desk) refused(resp *http.Response) error {
	var said struct{ Error string }
	err := json.NewDecoder(resp.Body).Decode(&said)
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return config.Wrong(fmt.Errorf("the worker at %s (BOTMESH_ADMIN_URL) has another BOTMESH_ADMIN_TOKEN than this command", d.base))
	case err != nil || said.Error == "":
		return config.Wrong(fmt.Errorf("%s answers %s: BOTMESH_ADMIN_URL must be the private address of a worker that has a BOTMESH_ADMIN_TOKEN", d.base, resp.Status))
	case resp.StatusCode == http.StatusBadRequest:
		return config.Wrong(errors.New(said.Error))
	}
	return errors.New(said.Error)
}

// chatPath is the path of a chat's page.
func chatPath(chat botmesh.ChatKey, more string) string {
	return "/v1/chats/" + url.PathEscape(chat.String()) + more
}

func openJournal(ctx context.Context, conn *jet.Conn, s config.Config) (*journal.Journal, error) {
	j, err := journal.Open(ctx, journal.Config{
		Bot: s.Bot, Inbox: conn.Stream(journal.InboxStream(s.Bot)), Dead: conn.Stream(journal.DeadStream(s.Bot)),
	})
	return j, noStreams(err, s)
}
