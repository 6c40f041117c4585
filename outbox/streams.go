package outbox

import (
	"cmp"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
)

// epochKey is the stream's metadata entry that holds the outbox's epoch.
const epochKey = "botmesh.epoch"

// The families of subjects. Behind the family come bot, provider and the chat's
// token.
const (
	familyLetter  = "bot.out"
	familyReceipt = "bot.rcpt"
)

// StreamName is the name of the stream that holds a bot's outbox.
func StreamName(bot string) string { return "BOT_" + bot + "_OUTBOX" }

func subjectOf(family, bot string, chat botmesh.ChatKey) string {
	return family + "." + bot + "." + chat.Key()
}

// Sizing says how large and how safe the outbox's stream is.
type Sizing struct {
	Bot string
	// Replicas is how many servers keep each message. Defaults to 1.
	Replicas int
	// Retention is how long the journal keeps a record. Defaults to eight days.
	Retention time.Duration
}

// Streams returns the stream that a bot's outbox stands on. The epoch in its
// metadata is empty: it is filled when the stream is made.
//
// It keeps letters a day longer than the journal its records, so that whoever
// repeats a flush for a record finds what it flushed. It has no size limit: a
// full stream would refuse the receipts that drain it. Should the account run
// full it refuses new letters rather than drop old ones. Only the leader answers
// reads, since what is read here decides whether a message goes out twice.
func Streams(s Sizing) []jetstream.StreamConfig {
	return []jetstream.StreamConfig{{
		Name:        StreamName(s.Bot),
		Description: "what bot " + s.Bot + " says, and the receipts of it",
		Subjects:    []string{familyLetter + "." + s.Bot + ".>", familyReceipt + "." + s.Bot + ".>"},
		Retention:   jetstream.LimitsPolicy,
		Storage:     jetstream.FileStorage,
		Discard:     jetstream.DiscardNew,
		Replicas:    cmp.Or(s.Replicas, 1),
		MaxAge:      cmp.Or(s.Retention, 8*24*time.Hour) + 24*time.Hour,
		AllowDirect: false,
		Metadata:    map[string]string{epochKey: ""},
	}}
}
