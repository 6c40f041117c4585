// Command ingress is the bare loop's: it takes a webhook and publishes it, and
// promises nothing that the server does not. It reads the settings of the real one.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/nats-io/nats.go"

	"github.com/botmesh-go/botmesh/bench/bare"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/jet"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
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
	inbox := conn.Stream(bare.Inbox(cfg.Bot))
	go bare.ServeReady(cfg.AdminListen)
	return http.ListenAndServe(cfg.Listen, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := take(r, inbox, cfg.Bot); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	}))
}

// update is the little of a webhook that the loop needs.
type update struct {
	ID      int64 `json:"update_id"`
	Message struct {
		Chat struct {
			ID int64 `json:"id"`
		} `json:"chat"`
	} `json:"message"`
}

func take(r *http.Request, inbox jet.Stream, bot string) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var u update
	if err := json.Unmarshal(body, &u); err != nil {
		return err
	}
	m := jet.Msg{
		Subject: bare.Subject("bot.in", bot, fmt.Sprint(u.Message.Chat.ID)),
		Header:  nats.Header{nats.MsgIdHdr: {fmt.Sprint(u.ID)}},
		Data:    body,
	}
	_, err = inbox.Publish(r.Context(), jet.Publish{Msg: m})
	return err
}
