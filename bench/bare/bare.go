// Package bare is what the two programs of the bare loop share. The loop makes the
// calls that one message costs and nothing else: no order, no retry, no lease that
// is renewed, no record of tries, no trace. What it does per second on a machine is
// what the engines and their clients allow, and the measure of what Botmesh adds.
//
// It stands on the same client of JetStream, the same client of Redis with its
// calls pipelined, and the same streams.
package bare

import (
	"context"
	"log"
	"net/http"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
)

// Inbox, Outbox and Rows name the streams.
func Inbox(bot string) string  { return journal.InboxStream(bot) }
func Outbox(bot string) string { return outbox.StreamName(bot) }
func Rows(bot string) string   { return "KV_" + natsstore.Bucket(bot) }

// Subject is where a chat's messages of a family are.
func Subject(family, bot, chat string) string { return family + "." + bot + ".telegram." + chat }

// RowSubject is where a chat's checkpoint is.
func RowSubject(bot, chat string) string { return "$KV." + natsstore.Bucket(bot) + ".telegram." + chat }

// Streams makes the streams as Botmesh does.
func Streams(ctx context.Context, js jetstream.JetStream, bot string) error {
	want := journal.Streams(journal.Sizing{Bot: bot})
	want = append(want, outbox.Streams(outbox.Sizing{Bot: bot})...)
	want = append(want, natsstore.Stream(bot, 1))
	for _, cfg := range want {
		if _, err := js.CreateOrUpdateStream(ctx, cfg); err != nil {
			return err
		}
	}
	return nil
}

// ServeReady serves a private address on which all is always well.
func ServeReady(addr string) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	log.Fatal(http.ListenAndServe(addr, mux))
}
