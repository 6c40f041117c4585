package jet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// floorEvery is how often Pull asks for the acknowledgement floor, which it needs
// if the consumer is deleted.
const floorEvery = time.Minute

// consumer is a durable pull consumer on a server.
type consumer struct {
	stream *stream
	cfg    ConsumerConfig
	next   string // subject of pull requests

	mu      sync.Mutex
	floor   uint64 // as last seen
	seen    time.Time
	pullers []*puller // not in use
}

func (s *stream) Consumer(ctx context.Context, cfg ConsumerConfig) (Consumer, error) {
	if cfg.AckWait == 0 {
		cfg.AckWait = defaultAckWait
	}
	c := &consumer{stream: s, cfg: cfg, next: "$JS.API.CONSUMER.MSG.NEXT." + s.name + "." + cfg.Name}
	if cfg.Look {
		if _, err := c.info(ctx); err != nil {
			return nil, err
		}
		return c, nil
	}
	if err := c.ensure(ctx); err != nil {
		return nil, fmt.Errorf("jet: consumer %s: %w", cfg.Name, err)
	}
	return c, nil
}

// ensure finds the consumer, or makes it where the last one is known to have been.
func (c *consumer) ensure(outer context.Context) error {
	ctx, cancel := context.WithTimeout(outer, 2*c.stream.conn.cfg.Timeout)
	defer cancel()
	js := c.stream.conn.js
	for {
		at, err := js.Consumer(ctx, c.stream.name, c.cfg.Name)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			var cfg jetstream.ConsumerConfig
			if cfg, err = c.config(outer); err != nil {
				return err
			}
			// Of two that make it at once the second finds it.
			at, err = js.CreateConsumer(ctx, c.stream.name, cfg)
			if errors.Is(err, jetstream.ErrConsumerExists) || errors.Is(err, jetstream.ErrConsumerNameAlreadyInUse) {
				continue
			}
		}
		if err != nil {
			return apiFailed(outer, err)
		}
		info := at.CachedInfo()
		c.saw(info)
		is := info.Config
		switch {
		case is.FilterSubject != c.cfg.Subject:
			return fmt.Errorf("it is there with filter %q, want %q", is.FilterSubject, c.cfg.Subject)
		case is.AckWait == c.cfg.AckWait && is.HeadersOnly == c.cfg.HeadersOnly:
			return nil
		}
		is.AckWait, is.HeadersOnly = c.cfg.AckWait, c.cfg.HeadersOnly
		_, err = js.UpdateConsumer(ctx, c.stream.name, is)
		return apiFailed(outer, err)
	}
}

// config is what a consumer that is not there is made with: it begins behind the
// last floor that was seen, never at the end of the stream. A stream that ends
// before that floor is another one, or went back; that is not guessed at.
func (c *consumer) config(ctx context.Context) (jetstream.ConsumerConfig, error) {
	c.mu.Lock()
	floor := c.floor
	c.mu.Unlock()
	if floor > 0 || len(c.cfg.Metadata) > 0 {
		info, err := c.stream.Info(ctx)
		if err != nil {
			return jetstream.ConsumerConfig{}, err
		}
		if err := c.cfg.sameStream(info.Metadata); err != nil {
			return jetstream.ConsumerConfig{}, err
		}
		if info.LastSeq < floor {
			return jetstream.ConsumerConfig{}, Unread(fmt.Errorf("the stream went back: it ends at %d, %d was acknowledged", info.LastSeq, floor))
		}
	}
	return jetstream.ConsumerConfig{
		Durable:       c.cfg.Name,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:   max(c.cfg.StartSeq, floor+1),
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       c.cfg.AckWait,
		MaxDeliver:    -1,
		MaxAckPending: -1,
		FilterSubject: c.cfg.Subject,
		HeadersOnly:   c.cfg.HeadersOnly,
	}, nil
}

// sameStream checks that a stream's metadata are those of the one that is meant.
func (c ConsumerConfig) sameStream(metadata map[string]string) error {
	for key, want := range c.Metadata {
		if got := metadata[key]; got != want {
			return Unread(fmt.Errorf("the stream is another one: its %s is %q, want %q", key, got, want))
		}
	}
	return nil
}

func (c *consumer) saw(info *jetstream.ConsumerInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.floor, c.seen = max(c.floor, floorOf(info)), time.Now()
}

// floorOf is the acknowledgement floor. A cluster says zero of a consumer that has
// acknowledged nothing, where a single server says what it began behind.
func floorOf(info *jetstream.ConsumerInfo) uint64 {
	return max(info.AckFloor.Stream, max(info.Config.OptStartSeq, 1)-1)
}

func (c *consumer) Floor(ctx context.Context) (uint64, error) {
	info, err := c.info(ctx)
	if err != nil {
		return 0, err
	}
	return floorOf(info), nil
}

func (c *consumer) Pending(ctx context.Context) (waiting, unacknowledged uint64, err error) {
	info, err := c.info(ctx)
	if err != nil {
		return 0, 0, err
	}
	return info.NumPending, uint64(max(info.NumAckPending, 0)), nil
}

func (c *consumer) info(ctx context.Context) (*jetstream.ConsumerInfo, error) {
	conn := c.stream.conn
	answer, err := conn.requests.one(ctx, &nats.Msg{Subject: "$JS.API.CONSUMER.INFO." + c.stream.name + "." + c.cfg.Name}, conn.cfg.Timeout)
	if err != nil {
		return nil, fmt.Errorf("jet: consumer %s: %w", c.cfg.Name, readFailed(ctx, err))
	}
	var got struct {
		Error *jetstream.APIError `json:"error"`
		jetstream.ConsumerInfo
	}
	switch err := json.Unmarshal(answer.Data, &got); {
	case err != nil:
		return nil, fmt.Errorf("jet: consumer %s: %w", c.cfg.Name, readFailed(ctx, err))
	case got.Error != nil:
		return nil, fmt.Errorf("jet: consumer %s: %w", c.cfg.Name, readRefused(got.Error))
	}
	c.saw(&got.ConsumerInfo)
	return &got.ConsumerInfo, nil
}

// apiFailed maps an error of a call that the client's own API made.
func apiFailed(ctx context.Context, err error) error {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &api):
		return readRefused(api)
	default:
		return readFailed(ctx, err)
	}
}

// remember asks for the floor if it was last seen long ago. Failing is no harm:
// an older floor only delivers more again.
func (c *consumer) remember(ctx context.Context) {
	c.mu.Lock()
	old := time.Since(c.seen) >= floorEvery
	if old {
		c.seen = time.Now()
	}
	c.mu.Unlock()
	if old {
		_, _ = c.info(ctx)
	}
}
