// Package engine connects a program to the NATS servers and the Redis that its
// settings name, and prepares the streams that a bot stands on.
//
// A server that is away is waited for; what no waiting mends is marked as a wrong
// configuration.
//
// What belongs here: settings turned into connections and streams. What is kept
// in them is the business of journal, checkpoint, outbox and coord.
package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/time/rate"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/tlsfiles"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/streams"
)

// complainEvery bounds how often a wait is logged.
const complainEvery = 10 * time.Second

// Dial connects by the settings, or to a server inside the process if there is
// one. A server that is away is no error. Name is shown by the servers, and its first
// word says where the answers come: below _INBOX.<word>, which is all that its user
// need be allowed to listen to.
func Dial(ctx context.Context, s config.Config, name string, inside nats.InProcessConnProvider, log *slog.Logger) (*jet.Conn, error) {
	n := s.NATS
	secure, err := tlsfiles.Client(tlsfiles.Files{CA: n.CA, Cert: n.Cert, Key: n.Key}, log)
	if err != nil {
		return nil, config.Wrong(fmt.Errorf("%s, %s, %s: %w", config.EnvName("nats_ca"), config.EnvName("nats_cert"), config.EnvName("nats_key"), err))
	}
	role, _, _ := strings.Cut(name, " ")
	conn, err := jet.Dial(ctx, jet.Config{
		URL: n.URL.Reveal(), Creds: n.Creds, User: n.User, Password: n.Password.Reveal(), Inbox: "_INBOX." + role,
		TLS: secure, Name: name, InProcess: inside, Logger: log,
		Hint: func(err error) error {
			return tlsfiles.Hint(err, config.EnvName("nats_ca"), config.EnvName("nats_cert"))
		},
	})
	switch path, _ := errors.AsType[*fs.PathError](err); {
	case err == nil, ctx.Err() != nil:
		return conn, err
	case path != nil && path.Path == s.NATS.Creds:
		return nil, config.Wrong(fmt.Errorf("%s: %w", config.EnvName("nats_creds"), err))
	}
	return nil, config.Wrong(err)
}

// Streams are all streams of the bot of the settings.
func Streams(s config.Config) []jetstream.StreamConfig {
	all := journal.Streams(journal.Sizing{Bot: s.Bot, Retention: s.Retention, Duplicates: s.DuplicateWindow})
	all = append(all, outbox.Streams(outbox.Sizing{Bot: s.Bot, Retention: s.Retention})...)
	all = append(all, natsstore.Stream(s.Bot, s.Replicas), acts.Stream(s.Bot, s.Replicas))
	for i := range all {
		all[i].Replicas = s.Replicas // zero is left to the servers that are there
	}
	return all
}

// Longest is the longest time that the inbox or the outbox keeps anything.
func Longest(s config.Config) time.Duration {
	longest := s.Retention
	for _, out := range outbox.Streams(outbox.Sizing{Bot: s.Bot, Retention: s.Retention}) {
		longest = max(longest, out.MaxAge)
	}
	return longest
}

// Prepare makes sure that the bot's streams are there, as far as the settings
// allow, and waits while that can not be told. It returns ctx's error if that
// ends first.
func Prepare(ctx context.Context, conn *jet.Conn, s config.Config, log *slog.Logger) error {
	return Await(ctx, log, s, "streams", func(ctx context.Context) error {
		return streams.Ensure(ctx, conn.JetStream(), streams.Mode(s.Streams), Streams(s))
	})
}

// Await repeats try, with pauses of up to three seconds, while what it needs is
// away: refused, not found or without an answer. Any other error is marked as a
// wrong configuration. It returns ctx's error if that ends first. The wait is logged
// with the address of the settings s.
func Await(ctx context.Context, log *slog.Logger, s config.Config, what string, try func(context.Context) error) error {
	complain := rate.Sometimes{Interval: complainEvery}
	pauses := backoff.NewExponentialBackOff(backoff.WithInitialInterval(50*time.Millisecond),
		backoff.WithMaxInterval(3*time.Second), backoff.WithMaxElapsedTime(0))
	err := backoff.Retry(func() error {
		err := try(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return backoff.Permanent(ctx.Err())
		case errors.Is(err, botmesh.ErrRefused), errors.Is(err, botmesh.ErrUnknown), errors.Is(err, botmesh.ErrNotFound):
			complain.Do(func() {
				log.Warn("waiting", "for", what, "err", err, "server", s.NATS.URL, "setting", config.EnvName("nats_url"))
			})
			return err
		}
		return backoff.Permanent(config.Wrong(err))
	}, backoff.WithContext(pauses, ctx))
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Close writes out what was sent and closes the connection, within a second.
func Close(ctx context.Context, conn *jet.Conn, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := conn.Drain(ctx); err != nil {
		log.Warn("nats was not closed in order", "err", err)
	}
}

// Listen wakes who reads a stream when a message passes by on its way there.
func Listen(conn *jet.Conn) func(subject string, wake func()) (stop func(), err error) {
	return func(subject string, wake func()) (func(), error) {
		sub, err := conn.NATS().Subscribe(subject, func(*nats.Msg) { wake() })
		if err != nil {
			return nil, fmt.Errorf("engine: listen to %s: %w", subject, err)
		}
		// An error means that the connection is closed, and the subscription with it.
		return func() { _ = sub.Unsubscribe() }, nil
	}
}

// Writable says whether the inbox of a bot takes a publish now, without storing
// anything: it publishes on a condition that never holds, and a stream that
// answers so could have taken the message.
func Writable(ctx context.Context, inbox jet.Stream, bot string) error {
	never := uint64(1) << 60
	subject := "bot.status." + bot + ".ready.probe"
	_, err := inbox.Publish(ctx, jet.Publish{Msg: jet.Msg{Subject: subject}, Expect: &never})
	if errors.Is(err, botmesh.ErrConflict) {
		return nil
	}
	return fmt.Errorf("engine: the inbox takes no publish: %w", err)
}
