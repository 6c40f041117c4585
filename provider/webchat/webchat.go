// Package webchat is a channel of our own: a page to talk to the bot in a
// browser.
//
// What the user says is posted to the ingress like any webhook, signed by the
// session's cookie, and journaled. What the bot says is read from the outbox as
// server-sent events, whose ids are outbox sequences, so that a page that comes
// back goes on where it was. Being in the outbox is the delivery: the [Sender]
// has nothing to do.
//
// On a reload the bot's side comes from the outbox, from the beginning. The
// user's own lines are kept by the browser (in its local storage, per session),
// so that an ingress needs no right to read the journal.
//
// What belongs here: the page, its session, its events. A session is a cookie
// that names a random chat; nothing of it is kept on the server, so every ingress
// with the same secret serves it.
package webchat

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// ID is the provider id of the web chat that most installations have.
const ID = "webchat"

const (
	minSecret         = 16 // bytes
	defaultMaxStreams = 1000
	// maxChatStreams bounds the open pages of one session.
	maxChatStreams = 8
	logEvery       = 10 * time.Second
)

// Letters is what the page needs of the outbox.
type Letters interface {
	// Follow calls each for every letter of a chat after a sequence, in order:
	// those that are there, then new ones as they come, until ctx ends or each
	// returns an error. It returns that error.
	Follow(ctx context.Context, chat botmesh.ChatKey, after uint64, each func(seq uint64, l botmesh.Letter) error) error
}

// Config configures a [Chat].
type Config struct {
	// ID is the provider's instance id. Defaults to [ID].
	ID string
	// Secret signs sessions and buttons: at least 16 bytes, the same on every
	// ingress. Another secret ends all sessions. Required.
	Secret string
	// Letters is the outbox. Required.
	Letters Letters
	// Title is shown above the conversation. Defaults to "Chat".
	Title string
	// MaxStreams bounds the pages that are open at once. Defaults to 1000.
	MaxStreams int
	// Logger defaults to none.
	Logger *slog.Logger
}

func (c *Config) setDefaults() {
	if c.ID == "" {
		c.ID = ID
	}
	if c.Title == "" {
		c.Title = "Chat"
	}
	if c.MaxStreams == 0 {
		c.MaxStreams = defaultMaxStreams
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

func (c *Config) validate() error {
	var errs []error
	if !botmesh.ValidName(c.ID) {
		errs = append(errs, fmt.Errorf("webchat: id %q does not match [a-z0-9-]{1,32}", c.ID))
	}
	if len(c.Secret) < minSecret {
		errs = append(errs, fmt.Errorf("webchat: the secret must have at least %d bytes", minSecret))
	}
	if c.Letters == nil {
		errs = append(errs, errors.New("webchat: no Letters"))
	}
	if c.MaxStreams < 0 {
		errs = append(errs, errors.New("webchat: MaxStreams is negative"))
	}
	return errors.Join(errs...)
}

// Chat is the web chat: a receiver of what the user says, and an http.Handler of
// the page and its events, at / and below /webchat/. Safe for concurrent use.
type Chat struct {
	cfg    Config
	mux    *http.ServeMux
	outage rate.Sometimes

	done    context.Context // ends with Close
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	streams map[string]int // open pages by chat
	open    int            // their sum
	closed  bool
}

var (
	_ provider.Receiver = (*Chat)(nil)
	_ http.Handler      = (*Chat)(nil)
)

//go:embed page
var files embed.FS

// New makes a Chat. The error names everything that is wrong with cfg.
func New(cfg Config) (*Chat, error) {
	cfg.setDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := &Chat{
		cfg:     cfg,
		mux:     http.NewServeMux(),
		outage:  rate.Sometimes{Interval: logEvery},
		streams: map[string]int{},
	}
	c.done, c.end = context.WithCancel(context.Background())
	if err := c.route(); err != nil {
		c.end()
		return nil, err
	}
	return c, nil
}

// Close ends all streams and waits for them; the pages come back to another
// ingress, and go on where they were. A server that shuts down calls it, as it
// would wait for the streams for ever.
func (c *Chat) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end()
	c.running.Wait()
}

// ID is the provider's instance id.
func (c *Chat) ID() string { return c.cfg.ID }

// ServeHTTP serves the page.
func (c *Chat) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.mux.ServeHTTP(w, r) }
