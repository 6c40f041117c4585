package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/journal"
)

// reachTime is how long a command waits for the servers.
const reachTime = 5 * time.Second

// withNATS calls do with a connection to the servers of the settings.
func (a *app) withNATS(ctx context.Context, do func(context.Context, *jet.Conn, config.Config) error) error {
	loaded, err := a.settings(nil)
	if err != nil {
		return err
	}
	ctx, cancel := interruptible(ctx)
	defer cancel()
	silent := slog.New(slog.DiscardHandler)
	conn, err := engine.Dial(ctx, loaded.Config, "botmesh cli", nil, silent)
	if err != nil {
		return err
	}
	defer engine.Close(ctx, conn, silent)
	if err := reach(ctx, conn); err != nil {
		return fmt.Errorf("%s can not be reached: %w (BOTMESH_NATS_URL chooses another)", loaded.NATS.URL, err)
	}
	return do(ctx, conn, loaded.Config)
}

func reach(ctx context.Context, conn *jet.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	for {
		err := conn.Healthy()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// withJournal calls do with the bot's journal.
func (a *app) withJournal(ctx context.Context, do func(context.Context, *journal.Journal, config.Config) error) error {
	return a.withNATS(ctx, func(ctx context.Context, conn *jet.Conn, s config.Config) error {
		j, err := openJournal(ctx, conn, s)
		if err != nil {
			return err
		}
		return do(ctx, j, s)
	})
}

// noStreams says in other words that a bot has no streams.
func noStreams(err error, s config.Config) error {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok && api.ErrorCode == jetstream.JSErrCodeStreamNotFound {
		return fmt.Errorf("bot %s has no streams here: check BOTMESH_BOT, or run botmesh streams apply", s.Bot)
	}
	return err
}
