package journal

import (
	"cmp"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Defaults of the journal's streams.
const (
	DefaultRetention  = 8 * 24 * time.Hour
	DefaultDuplicates = 2 * time.Minute
	deadRetention     = 30 * 24 * time.Hour
)

// Sizing says how large and how safe the journal's streams are.
type Sizing struct {
	Bot string
	// Replicas is how many servers keep each message. Zero is decided when a stream
	// is made.
	Replicas int
	// Retention is how long a record is kept. Defaults to eight days.
	Retention time.Duration
	// Duplicates is how long the stream itself knows a repeated id; at least 100 ms,
	// at most Retention. Defaults to two minutes.
	Duplicates time.Duration
}

// Streams returns the streams that a bot's journal stands on. The epoch in the
// inbox's metadata is empty: it is filled when the stream is made.
//
// The inbox has no size limits and discards by age alone: message schedules, which
// it is to hold, can not be had on a stream that refuses when full. Dead letters
// are refused rather than dropped should the account run full.
func Streams(s Sizing) []jetstream.StreamConfig {
	retention := cmp.Or(s.Retention, DefaultRetention)
	inbox := jetstream.StreamConfig{
		Name:              InboxStream(s.Bot),
		Description:       "every inbound event of bot " + s.Bot,
		Subjects:          []string{allOf(familyIn, s.Bot), allOf(familyTimer, s.Bot), allOf(familyStatus, s.Bot)},
		Retention:         jetstream.LimitsPolicy,
		Storage:           jetstream.FileStorage,
		Discard:           jetstream.DiscardOld,
		Replicas:          s.Replicas,
		MaxAge:            retention,
		Duplicates:        min(cmp.Or(s.Duplicates, DefaultDuplicates), retention),
		AllowDirect:       true,
		AllowMsgTTL:       true,
		AllowMsgSchedules: true,
		AllowRollup:       true, // the server wants it for schedules
		Metadata:          map[string]string{epochKey: ""},
	}
	dead := jetstream.StreamConfig{
		Name:        DeadStream(s.Bot),
		Description: "what bot " + s.Bot + " set aside",
		Subjects:    []string{allOf(familyDead, s.Bot)},
		Retention:   jetstream.LimitsPolicy,
		Storage:     jetstream.FileStorage,
		Discard:     jetstream.DiscardNew,
		Replicas:    s.Replicas,
		MaxAge:      deadRetention,
		AllowDirect: true,
	}
	return []jetstream.StreamConfig{inbox, dead}
}
