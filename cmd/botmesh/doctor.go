package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/doctor"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/provider/telegram"
)

const (
	exitFound = exit(1) // doctor found something
	exitBlind = exit(2) // doctor could not look at something

	// named bounds the chats that doctor names, looked the chats it looks at.
	named  = 20
	looked = 1000
)

type doctorCommand struct {
	output
	Waiting time.Duration `default:"1m" help:"How long a chat's oldest message or letter may wait."`
}

// Help is shown with the command's flags.
func (doctorCommand) Help() string {
	return "Exits with 0 if all is fine, with 1 if anything is not, with 2 if something could not be looked at."
}

// Run looks at the servers and the chats, and shows what will hurt.
func (c doctorCommand) Run(ctx context.Context, a *app) error {
	var found []doctor.Finding
	err := a.withNATS(ctx, func(ctx context.Context, conn *jet.Conn, s config.Config) (err error) {
		found, err = c.examine(ctx, conn, s)
		return err
	})
	switch {
	case config.IsWrong(err):
		return err
	case err != nil:
		found = append(found, doctor.Finding{Level: doctor.Unknown, Check: "nats", Text: err.Error()})
	}
	if err := c.show(a.stdout, found, func(w io.Writer) error { return writeFindings(w, found) }); err != nil {
		return err
	}
	switch doctor.Worst(found) {
	case doctor.Fine:
		return nil
	case doctor.Unknown:
		return exitBlind
	}
	return exitFound
}

// examine looks at the servers first: where they are not as they should be, what the
// bot's own view of its chats says comes from there.
func (c doctorCommand) examine(ctx context.Context, conn *jet.Conn, s config.Config) ([]doctor.Finding, error) {
	cfg := doctor.Config{
		JetStream: conn.JetStream(), Streams: engine.Streams(s), Inbox: journal.InboxStream(s.Bot), Prefix: s.Prefix, RedisName: engine.NameRedis(s), Lease: s.Lease,
	}
	cfg.Ingresses = func(ctx context.Context) ([]doctor.Ingress, error) {
		return engine.Who[doctor.Ingress](ctx, conn, s.Bot)
	}
	forget, err := withIntakes(s, &cfg)
	if err != nil {
		return nil, err
	}
	defer forget()
	var found []doctor.Finding
	if ofDev(conn) {
		cfg.Lease = 0
		found = append(found, doctor.Finding{Level: doctor.Fine, Check: "replicas", Text: "botmesh dev has all in one process, without Redis"})
	} else {
		leave, err := withRedis(ctx, s, &cfg)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	found = append(found, doctor.Examine(ctx, cfg)...)
	for _, f := range found {
		if f.Check == "streams" && f.Level != doctor.Fine && f.Level != doctor.Warning {
			return found, nil // there are no chats to look at
		}
	}
	err = withOwnDesk(ctx, conn, s, func(ctx context.Context, d *desk) error {
		more, err := c.chats(ctx, d)
		found = append(found, more...)
		return err
	})
	if err != nil {
		found = append(found, doctor.Finding{Level: doctor.Unknown, Check: "chats", Text: err.Error()})
	}
	return found, nil
}

// withIntakes has those platforms asked whose tokens the settings have, until leave is
// called.
func withIntakes(s config.Config, cfg *doctor.Config) (leave func(), err error) {
	t := s.Telegram
	if !t.Token.IsSet() {
		return func() {}, nil
	}
	p, err := telegram.NewSender(telegram.SenderConfig{Token: t.Token.Reveal(), API: t.APIURL.Reveal()})
	if err != nil {
		return nil, config.Wrong(err)
	}
	cfg.Intakes = append(cfg.Intakes, doctor.Intake{ID: p.ID(), Polls: t.Polls(), Checker: p})
	return p.Close, nil
}

// withRedis has the Redis of the settings looked at too, until leave is called.
func withRedis(ctx context.Context, s config.Config, cfg *doctor.Config) (leave func(), err error) {
	silent := slog.New(slog.DiscardHandler)
	engine.LogRedis(silent)
	redis, err := engine.DialRedis(ctx, s, silent)
	if err != nil {
		return nil, err
	}
	coordinator, err := redis.New()
	if err != nil {
		return nil, errors.Join(err, redis.Close())
	}
	cfg.Self = coordinator.Incarnation()
	cfg.Redis, _ = engine.RedisOf(redis)
	cfg.Leaders, _ = coord.As[coord.Viewer](coordinator)
	if s.Telegram.Polls() && s.ProviderSession != "shared" {
		cfg.Sessions = append(cfg.Sessions, "provider:telegram")
	}
	return func() { _ = errors.Join(coordinator.Close(context.WithoutCancel(ctx)), redis.Close()) }, nil // nothing was held
}

// chats says what waits, and what is left to an operator.
func (c doctorCommand) chats(ctx context.Context, d *desk) (found []doctor.Finding, err error) {
	var all []admin.Chat
	var dead []admin.Dead
	var unsent admin.OutboxPage // the first one has all that is held
	err = errors.Join(
		d.ask(ctx, http.MethodGet, "/v1/chats", url.Values{"limit": {strconv.Itoa(looked)}}, nil, &all),
		d.ask(ctx, http.MethodGet, "/v1/dead", url.Values{"limit": {strconv.Itoa(looked)}}, nil, &dead),
		d.ask(ctx, http.MethodGet, "/v1/outbox", nil, nil, &unsent))
	if err != nil {
		return nil, err
	}
	add := func(check, do, format string, args ...any) {
		found = append(found, doctor.Finding{Level: doctor.Warning, Check: check, Text: fmt.Sprintf(format, args...), Do: do})
	}
	late, stranded := 0, 0
	for _, chat := range all {
		if cp := chat.Checkpoint; cp != nil && !cp.Stranded.IsZero() {
			stranded++
		}
		oldest := waitsSince(chat)
		if oldest.IsZero() || time.Since(oldest) < c.Waiting {
			continue
		}
		if late++; late <= named {
			add("chats", "", "%s waits for %s: %s", chat.Chat, age(oldest), strings.Join(chat.Why, "; "))
		}
	}
	if late > named {
		add("chats", "botmesh chats ls names them", "%d more wait for longer than %v", late-named, c.Waiting)
	}
	if stranded > 0 {
		add("builds", "deploy a build that can: botmesh chats ls --state=unreadable says why", "%d chats wait for a build that can go on from their state", stranded)
	}
	if len(dead) > 0 {
		add("dead letters", "botmesh dlq ls says why; dlq requeue puts them back, dlq drop removes them", "%d are kept, the oldest for %s", len(dead), age(dead[0].At))
	}
	held := 0
	for _, u := range unsent.Chats {
		held += len(u.Held)
	}
	if held > 0 {
		add("held parts", "botmesh outbox ls names them; outbox release --part sends one, perhaps again, outbox drop leaves it", "%d wait for an operator, since they may have been sent", held)
	}
	if found == nil {
		found = append(found, doctor.Finding{Level: doctor.Fine, Check: "chats", Text: fmt.Sprintf("none waits for longer than %v; nothing is set aside or held", c.Waiting)})
	}
	return found, nil
}

// waitsSince is when the first of what a chat waits with came, zero if nothing waits.
func waitsSince(chat admin.Chat) time.Time {
	oldest := chat.Records.Oldest
	if out := chat.Outbox.Oldest; oldest.IsZero() || !out.IsZero() && out.Before(oldest) {
		oldest = out
	}
	return oldest
}

func writeFindings(w io.Writer, found []doctor.Finding) error {
	for _, f := range found {
		if _, err := fmt.Fprintf(w, "%-8s %-13s %s\n", f.Level, f.Check, f.Text); err != nil {
			return err
		}
		if f.Do == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%23s%s\n", "→ ", f.Do); err != nil {
			return err
		}
	}
	return nil
}
