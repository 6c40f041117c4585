package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/doctor"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/workerd"
	"github.com/botmesh-go/botmesh/provider/telegram"
)

const (
	exitFound = exit(1) // doctor found something
	exitBlind = exit(2) // doctor could not look at something
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
	cfg := workerd.Patient(s, conn)
	cfg.Lists = true
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
		more, err := doctor.Chats(ctx, func(ctx context.Context, path string, query url.Values, out any) error {
			return d.ask(ctx, http.MethodGet, path, query, nil, out)
		}, c.Waiting)
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
	return func() { _ = errors.Join(coordinator.Close(context.WithoutCancel(ctx)), redis.Close()) }, nil // nothing was held
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
