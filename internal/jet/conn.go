package jet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/time/rate"
)

// Config says how to reach JetStream. The zero value is a server on this machine.
type Config struct {
	// URL is a server's address, or several with commas between. Defaults to
	// nats://127.0.0.1:4222.
	URL string
	// Creds is the path of a credentials file, empty for none. It is read again at
	// every connect.
	Creds string
	// User and Password are those of a user, if User is not empty, in place of what URL
	// says.
	User, Password string
	// Inbox begins the subjects on which answers come, so that one program may not
	// listen to those of another. Defaults to "_INBOX".
	Inbox string
	// Name is shown by the server for this connection. Defaults to "botmesh".
	Name string
	// TLS, if set, is required and used as it is. Nil uses TLS where URL or server
	// ask for it, and trusts what the machine trusts.
	TLS *tls.Config
	// Hint, if set, adds to why there is no connection what can be done about it.
	Hint func(error) error
	// InProcess, if set, connects to a server inside this process, whatever URL says.
	InProcess nats.InProcessConnProvider
	// Timeout bounds each request. Defaults to two seconds.
	Timeout time.Duration
	// Logger defaults to discarding.
	Logger *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	if c.URL == "" {
		c.URL = nats.DefaultURL
	}
	if c.Name == "" {
		c.Name = "botmesh"
	}
	if c.Timeout == 0 {
		c.Timeout = 2 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Hint == nil {
		c.Hint = func(err error) error { return err }
	}
	if c.Timeout < 0 {
		return c, fmt.Errorf("jet: config: timeout %v is negative", c.Timeout)
	}
	return c, nil
}

// Conn is a connection to JetStream that is made again for ever. Nothing is
// published late: what can not be sent at once is refused.
type Conn struct {
	cfg      Config
	nc       *nats.Conn
	js       jetstream.JetStream
	requests requests
	health   health
	failed   atomic.Pointer[error] // why the last try to connect came to nothing
	complain rate.Sometimes
	closed   chan struct{} // closed when the client gave up the connection
}

// Dial connects. A server that can not be reached is no error: the connection is
// tried again in the background for ever, and [Conn.Healthy] says that it is not
// there yet. An error means that the configuration is wrong or ctx ended.
func Dial(ctx context.Context, cfg Config) (*Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Conn{cfg: cfg, complain: rate.Sometimes{Interval: time.Minute}, closed: make(chan struct{})}
	if c.nc, err = nats.Connect(cfg.URL, c.options()...); err != nil {
		return nil, fmt.Errorf("jet: dial: %w", err)
	}
	if c.js, err = jetstream.New(c.nc, jetstream.WithDefaultTimeout(cfg.Timeout)); err == nil {
		err = c.requests.open(c.nc)
	}
	if err != nil {
		c.nc.Close()
		return nil, fmt.Errorf("jet: dial: %w", err)
	}
	return c, nil
}

// options are the client's. What counts: it never gives up, and it keeps nothing
// to be sent after a reconnect.
func (c *Conn) options() []nats.Option {
	log := c.cfg.Logger
	opts := []nats.Option{
		nats.Name(c.cfg.Name),
		nats.Timeout(c.cfg.Timeout),
		nats.MaxReconnects(-1),
		nats.RetryOnFailedConnect(true),
		nats.IgnoreAuthErrorAbort(),
		nats.ReconnectBufSize(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(250*time.Millisecond, 250*time.Millisecond),
		nats.PingInterval(10 * time.Second),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			c.requests.fail()
			if err != nil { // it was not us who closed it
				log.Warn("nats disconnected", "err", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) { log.Info("nats connected", "server", nc.ConnectedServerName()) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
			c.failed.Store(&err)
			c.complain.Do(func() { log.Warn("nats connect failed", "err", c.cfg.Hint(err)) })
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn("nats error", "err", err) }),
		nats.ClosedHandler(func(*nats.Conn) {
			c.requests.fail()
			close(c.closed)
		}),
	}
	if c.cfg.Creds != "" {
		opts = append(opts, nats.UserCredentials(c.cfg.Creds))
	}
	if c.cfg.User != "" {
		opts = append(opts, nats.UserInfo(c.cfg.User, c.cfg.Password))
	}
	if c.cfg.Inbox != "" {
		opts = append(opts, nats.CustomInboxPrefix(c.cfg.Inbox))
	}
	if c.cfg.TLS != nil {
		opts = append(opts, nats.Secure(c.cfg.TLS))
	}
	if c.cfg.InProcess != nil {
		opts = append(opts, nats.InProcessServer(c.cfg.InProcess))
	}
	return opts
}

// Stream returns the stream of that name, which need not exist yet.
func (c *Conn) Stream(name string) Stream { return newStream(c, name) }

// JetStream is for what jet does not do: to make, change and inspect streams.
func (c *Conn) JetStream() jetstream.JetStream { return c.js }

// NATS is the connection below, for subscriptions without a stream.
func (c *Conn) NATS() *nats.Conn { return c.nc }

// Healthy says why a publish would probably fail now, or nil: there is no
// connection, or the last publishes all timed out.
func (c *Conn) Healthy() error {
	switch {
	case !c.nc.IsConnected():
		return c.unconnected()
	case !c.health.ok():
		return errors.New("jet: publishes time out")
	}
	return nil
}

// unconnected says that there is no connection and, if it is known, why.
func (c *Conn) unconnected() error {
	err := c.nc.LastError() // of a handshake; a connection that was not even made is told to the handler alone
	if failed := c.failed.Load(); err == nil && failed != nil {
		err = *failed
	}
	state := strings.ToLower(c.nc.Status().String())
	if err == nil {
		return fmt.Errorf("jet: nats is %s", state)
	}
	return fmt.Errorf("jet: nats is %s: %w", state, c.cfg.Hint(err))
}

// Drain writes out what was sent so far, such as acknowledgements, and closes. The
// error is ctx's or the connection's; it is closed all the same.
func (c *Conn) Drain(ctx context.Context) error {
	var err error
	if c.nc.IsConnected() { // else nothing is kept that could be written
		err = c.nc.FlushWithContext(ctx)
	}
	c.Close()
	if err != nil {
		return fmt.Errorf("jet: drain: %w", err)
	}
	return nil
}

// Close ends the connection and every call on it.
func (c *Conn) Close() {
	c.nc.Close()
	<-c.closed
}
