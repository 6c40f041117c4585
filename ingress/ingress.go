// Package ingress is where platforms deliver their webhooks: HTTP in, journal out.
//
// A webhook is answered with success only after every record in it is journaled.
// The order is always the same: bound the body, verify who sent it, parse it,
// publish all its records, answer. What each answer means to a platform:
//
//	200  everything is stored, or was before
//	401  not signed, or not by the platform; nothing was read but the body
//	403  a GET that does not verify the address
//	404  no such provider
//	405  not a POST, nor a GET by which the platform verifies the address
//	400  not what the platform sends; the text names the fault
//	408  the body did not come in time
//	413  the body is over the provider's bound, or holds more than 2000 events
//	503  not stored, or not known to be: repeat it after Retry-After
//
// A repeated webhook is journaled once. What is signed but can not be made into
// records, because of a fault of ours, is journaled as an event and answered 200:
// a refusal would be repeated for a day, with the chat held back behind it.
//
// What belongs here: the order above, its bounds and its answers. What a platform
// sends does not; that is its provider's.
package ingress

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/provider"
)

const (
	defaultTimeout     = 1500 * time.Millisecond
	defaultRetryAfter  = time.Second
	defaultConcurrency = 256
	// maxRecords bounds the events in one webhook: twice what any platform sends.
	maxRecords = 2000
	// logEvery bounds how often the same trouble of one provider is logged.
	logEvery = 10 * time.Second
)

// Journal is what the ingress needs of the journal.
type Journal interface {
	// PublishAll journals all records or fails; see [journal.Publisher.PublishAll].
	PublishAll(ctx context.Context, records []botmesh.Record) ([]journal.Placed, error)
}

// Config configures a handler.
type Config struct {
	// Journal stores the records. Required.
	Journal Journal
	// Receivers take webhooks at /webhooks/<id>, each under its own id. At least one.
	Receivers []provider.Receiver
	// Web serves all other paths, such as the page of the web chat. Defaults to 404.
	Web http.Handler
	// Timeout bounds how long storing may take, from when the body is read.
	// Defaults to 1.5 seconds, which leaves the most impatient platform half a
	// second.
	Timeout time.Duration
	// RetryAfter is told with every 503, in whole seconds. Defaults to a second.
	RetryAfter time.Duration
	// Concurrency bounds the webhooks that are being stored at once; one more is
	// answered 503 at once, so that those before it are stored in time also when the
	// journal is slow. Defaults to 256: within Timeout for a journal that stores 200
	// a second.
	Concurrency int
	// Logger is told about refusals and outages, each at most once in 10 seconds
	// for a provider. Defaults to none.
	Logger *slog.Logger
}

func (c *Config) setDefaults() {
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.RetryAfter == 0 {
		c.RetryAfter = defaultRetryAfter
	}
	if c.Concurrency == 0 {
		c.Concurrency = defaultConcurrency
	}
	if c.Web == nil {
		c.Web = http.NotFoundHandler()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

func (c *Config) validate() error {
	var errs []error
	if c.Journal == nil {
		errs = append(errs, errors.New("ingress: no Journal"))
	}
	if len(c.Receivers) == 0 {
		errs = append(errs, errors.New("ingress: no Receivers"))
	}
	seen := map[string]bool{}
	for _, r := range c.Receivers {
		switch id := r.ID(); {
		case !botmesh.ValidName(id):
			errs = append(errs, fmt.Errorf("ingress: receiver %q does not match [a-z0-9-]{1,32}", id))
		case seen[id]:
			errs = append(errs, fmt.Errorf("ingress: two receivers are called %q", id))
		case r.MaxBody() <= 0:
			errs = append(errs, fmt.Errorf("ingress: receiver %q has no body bound", id))
		}
		seen[r.ID()] = true
	}
	if c.Timeout < 0 || c.RetryAfter < 0 || c.Concurrency < 0 {
		errs = append(errs, errors.New("ingress: Timeout, RetryAfter and Concurrency must not be negative"))
	}
	return errors.Join(errs...)
}

type handler struct {
	cfg       Config
	receivers map[string]*receiver
	slots     chan struct{}
}

// receiver is a provider's, with what bounds its lines in the log.
type receiver struct {
	provider.Receiver
	refusals, outages rate.Sometimes
}

// New makes the handler. The error names everything that is wrong with cfg.
func New(cfg Config) (http.Handler, error) {
	cfg.setDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	h := &handler{cfg: cfg, receivers: map[string]*receiver{}, slots: make(chan struct{}, cfg.Concurrency)}
	for _, r := range cfg.Receivers {
		h.receivers[r.ID()] = &receiver{
			Receiver: r,
			refusals: rate.Sometimes{Interval: logEvery},
			outages:  rate.Sometimes{Interval: logEvery},
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/webhooks/{provider}", h.webhook)
	mux.Handle("/webhooks/", http.NotFoundHandler())
	mux.Handle("/", cfg.Web)
	return mux, nil
}

// NewServer makes a server with the bounds that a public address needs: 16 KiB of
// headers within 5 seconds, the body within 10, idle connections for 2 minutes.
// Writing is not bounded, for streams: their handlers do that.
func NewServer(addr string, h http.Handler, logger *slog.Logger) *http.Server {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &http.Server{
		Addr:              addr,
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}
