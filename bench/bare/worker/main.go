// Command worker is the bare loop's: it counts the messages of each chat and
// replies, with the calls that one message costs and nothing else. It reads the
// settings of the real one.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/botmesh-go/botmesh/bench/bare"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/jet"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// worker handles messages one by one, many at a time.
type worker struct {
	name  string
	bot   string
	lease time.Duration

	inbox  jet.Stream
	rows   jet.Stream
	outbox jet.Stream
	redis  redis.Cmdable // pipelines by itself

	api  string // of sendMessage
	http *http.Client

	slots chan struct{}
}

func run(ctx context.Context) error {
	cfg, err := config.Load(config.Input{Environ: os.Environ()})
	if err != nil {
		return err
	}
	conn, err := jet.Dial(ctx, jet.Config{URL: cfg.NATS.URL.Reveal()})
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := bare.Streams(ctx, conn.JetStream(), cfg.Bot); err != nil {
		return err
	}
	client, err := rediscoord.Dial(ctx, cfg.Redis.URL.Reveal())
	if err != nil {
		return err
	}
	defer client.Close()
	pipelined, err := client.(*redis.Client).AutoPipeline()
	if err != nil {
		return err
	}
	w := &worker{
		name: cfg.ReplicaID, bot: cfg.Bot, lease: cfg.Lease,
		inbox: conn.Stream(bare.Inbox(cfg.Bot)), rows: conn.Stream(bare.Rows(cfg.Bot)), outbox: conn.Stream(bare.Outbox(cfg.Bot)),
		redis: pipelined,
		api:   cfg.Telegram.APIURL.Reveal() + "/bot" + cfg.Telegram.Token.Reveal() + "/sendMessage",
		http:  &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: cfg.Concurrency}},
		slots: make(chan struct{}, cfg.Concurrency),
	}
	for _, s := range scripts {
		if err := s.Load(ctx, client).Err(); err != nil {
			return err
		}
	}
	go bare.ServeReady(cfg.AdminListen)
	return w.pull(ctx)
}

// pull hands each nudge, without its body, to a goroutine of its own.
func (w *worker) pull(ctx context.Context) error {
	consumer, err := w.inbox.Consumer(ctx, jet.ConsumerConfig{
		Name: "bare", Subject: bare.Subject("bot.in", w.bot, ">"), HeadersOnly: true, AckWait: w.lease,
	})
	if err != nil {
		return err
	}
	for {
		err := consumer.Pull(ctx, max(cap(w.slots)-len(w.slots), 1), w.lease/3, func(d jet.Delivery) {
			w.slots <- struct{}{}
			go func() {
				defer func() { <-w.slots }()
				chat := d.Subject[strings.LastIndexByte(d.Subject, '.')+1:]
				if err := w.handle(ctx, chat, d.Seq); err != nil {
					fmt.Fprintln(os.Stderr, chat, err)
					_ = d.Nak(10 * time.Millisecond)
					return
				}
				_ = d.Ack()
			}()
		})
		if err != nil {
			return err
		}
	}
}
