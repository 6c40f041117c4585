package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/httpcall"
)

const (
	// DefaultWait is how long Telegram holds a poll while there is nothing.
	DefaultWait = 25 * time.Second
	maxWait     = 50 * time.Second
	// late is what an answer may take beyond that.
	late = 10 * time.Second

	maxUpdates = 100 // that Telegram gives at once
	// maxAnswer bounds an answer, in bytes. One that is longer is asked for in
	// smaller pieces.
	maxAnswer = 8 << 20

	// farewell bounds the last call of a session that ends in order.
	farewell = time.Second
	// maxPresses bounds the buttons whose waiting signs are taken off at once.
	maxPresses = 8
)

// kinds are the updates that Parse makes more of than an event. Telegram sends
// some of them only if they are asked for.
var kinds = []string{
	"message", "edited_message", "business_message", "edited_business_message", "deleted_business_messages",
	"callback_query", "message_reaction", "my_chat_member", "chat_member",
}

// PollerConfig configures a [Poller].
type PollerConfig struct {
	// ID is the provider's instance id. Defaults to [ID].
	ID string
	// Token is the bot's token. Required. It is in no error.
	Token string
	// API is the base address of the Bot API. Defaults to [DefaultAPI].
	API string
	// Wait is how long Telegram may hold a poll while there is nothing, in whole
	// seconds from 1 to 50. Defaults to [DefaultWait].
	Wait time.Duration
	// Transport makes the calls. Defaults to one of the poller's own.
	Transport http.RoundTripper
}

// Poller takes Telegram's updates by long polling. Telegram allows one at a time,
// and none while the bot has a webhook: the second one throws the first one out.
type Poller struct {
	parser
	api  api
	wait time.Duration
}

var _ provider.Session = (*Poller)(nil)

// NewPoller makes a Poller. The error names everything that is wrong with cfg,
// without the token.
func NewPoller(cfg PollerConfig) (*Poller, error) {
	if cfg.ID == "" {
		cfg.ID = ID
	}
	if cfg.Wait == 0 {
		cfg.Wait = DefaultWait
	}
	api, err := newAPI(cfg.ID, cfg.Token, cfg.API, httpcall.Config{Transport: cfg.Transport, MaxAnswer: maxAnswer})
	if cfg.Wait < time.Second || cfg.Wait > maxWait {
		err = errors.Join(err, fmt.Errorf("telegram: a poll waits %v, want 1s to %v", cfg.Wait, maxWait))
	}
	if err != nil {
		return nil, err
	}
	return &Poller{parser: parser{cfg.ID}, api: api, wait: cfg.Wait}, nil
}

// ID is the provider's instance id.
func (p *Poller) ID() string { return p.id }

// Exclusive is true: see [Poller].
func (p *Poller) Exclusive() bool { return true }

// Parse makes the records of an update, as [Receiver.Parse] does.
func (p *Poller) Parse(item []byte) ([]botmesh.Record, error) { return p.parse(item) }

// Close closes the idle connections of the poller's own transport.
func (p *Poller) Close() { p.api.client.Close() }

// Run polls until ctx ends or Telegram says no. The errors are those of
// [provider.Session]: another poller took the updates (409), a rate limit (429, with
// its delay), and a webhook, a wrong token or address, which half a minute is left for.
//
// Telegram forgets an update when a later poll asks for a higher number. A number is
// asked for only once all before it are stored, and only until an answer shows that
// it arrived: after a quiet week Telegram begins to count anew, maybe lower.
func (p *Poller) Run(ctx context.Context, sink provider.Sink) error {
	var presses errgroup.Group
	presses.SetLimit(maxPresses)
	defer func() { _ = presses.Wait() }() // nothing depends on them
	limit := maxUpdates
	var next int64         // the lowest number that is not stored; 0 if Telegram knows
	var wait time.Duration // none at first: whether Telegram answers is known at once
	for ctx.Err() == nil {
		a, err := p.poll(ctx, request{Offset: next, Limit: limit, Timeout: int(wait / time.Second)})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case a.cut && limit > 1:
			limit /= 2 // nothing was lost: the same come again, fewer at a time
			continue
		case !a.OK:
			return a.closed()
		}
		sink.Alive()
		wait = p.wait
		updates, err := readUpdates(a.Result)
		if err != nil {
			return err
		}
		next, limit = 0, min(2*limit, maxUpdates)
		if len(updates.items) == 0 {
			continue
		}
		if err := sink.Store(ctx, updates.items); err != nil {
			return err
		}
		next = updates.last + 1
		for _, press := range updates.presses {
			presses.TryGo(func() error { return p.acknowledge(ctx, press) })
		}
	}
	p.leave(ctx, next)
	return context.Cause(ctx)
}

// request is a call of getUpdates.
type request struct {
	Offset  int64    `json:"offset,omitempty"`
	Limit   int      `json:"limit"`
	Timeout int      `json:"timeout"` // seconds
	Allowed []string `json:"allowed_updates"`
}

func (p *Poller) poll(ctx context.Context, r request) (answer, error) {
	r.Allowed = kinds
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.Timeout)*time.Second+late)
	defer cancel()
	return p.api.call(ctx, "getUpdates", r)
}

// batch is what one poll brought.
type batch struct {
	items   [][]byte
	last    int64    // the highest number
	presses []string // the ids of pressed buttons
}

func readUpdates(result json.RawMessage) (batch, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(result, &items); err != nil {
		return batch{}, fmt.Errorf("telegram: getUpdates answered no list: %w", err)
	}
	var b batch
	numbered := false
	for _, item := range items {
		var u struct {
			ID       *int64 `json:"update_id"`
			Callback struct {
				ID string `json:"id"`
			} `json:"callback_query"`
		}
		_ = json.Unmarshal(item, &u) // what it does not fit is kept as an event
		b.items = append(b.items, item)
		if u.ID != nil && (!numbered || *u.ID > b.last) {
			b.last, numbered = *u.ID, true
		}
		if u.Callback.ID != "" {
			b.presses = append(b.presses, u.Callback.ID)
		}
	}
	if len(items) > 0 && !numbered {
		return batch{}, errors.New("telegram: getUpdates gave updates without a number, which can not be confirmed")
	}
	return b, nil
}

// acknowledge takes the waiting sign off a pressed button. Nothing depends on it.
func (p *Poller) acknowledge(ctx context.Context, press string) error {
	ctx, cancel := context.WithTimeout(ctx, late)
	defer cancel()
	_, err := p.api.call(ctx, "answerCallbackQuery", struct {
		ID string `json:"callback_query_id"`
	}{press})
	return err
}

// leave confirms what was stored, so that who is next does not get it once more. A
// session that was lost says nothing: the call would throw out who has it now.
func (p *Poller) leave(ctx context.Context, next int64) {
	if next == 0 || errors.Is(context.Cause(ctx), botmesh.ErrLeaseLost) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	_, _ = p.poll(ctx, request{Offset: next, Limit: 1}) // else it is a duplicate there
}
