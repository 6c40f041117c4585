// Package natsstore keeps checkpoints in a JetStream key-value bucket.
//
// Bucket BOT_<bot>_CP is the stream KV_BOT_<bot>_CP, one subject per chat. `nats
// kv get` reads it. The bucket is made by [Stream] and not by the client's
// key-value API, which would allow reads from a replica that lags.
//
// What belongs here: how a row lies in the stream, and how a write whose answer
// was lost is settled.
package natsstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// nonceHeader carries the nonce of a write. It is a word of the wire.
const nonceHeader = "Bot-Nonce"

// The headers of a key-value bucket that mark a deleted key.
const (
	operationHeader = "KV-Operation"
	markerHeader    = "Nats-Marker-Reason"
)

// Bucket is the name of a bot's key-value bucket.
func Bucket(bot string) string { return "BOT_" + bot + "_CP" }

// Stream is the configuration of the stream below a bot's bucket.
//
// It is read from its leader alone (no direct reads), keeps one message a key,
// refuses to forget one to make room for another, and takes a time to live per
// message. Nothing in it expires otherwise.
func Stream(bot string, replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              "KV_" + Bucket(bot),
		Description:       "checkpoints of the chats of bot " + bot,
		Subjects:          []string{prefix(bot) + ">"},
		Retention:         jetstream.LimitsPolicy,
		Storage:           jetstream.FileStorage,
		Replicas:          replicas,
		MaxMsgsPerSubject: 1,
		MaxMsgs:           -1,
		MaxBytes:          -1,
		MaxMsgSize:        -1,
		MaxConsumers:      -1,
		Discard:           jetstream.DiscardNew,
		DenyDelete:        true,
		AllowRollup:       true,
		AllowDirect:       false,
		AllowMsgTTL:       true,
		Duplicates:        2 * time.Minute,
	}
}

func prefix(bot string) string { return "$KV." + Bucket(bot) + "." }

// Store is a [checkpoint.Store] in a bucket.
type Store struct {
	stream jet.Stream
	prefix string
}

var _ checkpoint.Store = (*Store)(nil)

// New returns the store in a stream of [Stream]'s configuration.
func New(stream jet.Stream, bot string) *Store {
	return &Store{stream: stream, prefix: prefix(bot)}
}

// Load asks the stream's leader. A leader that was just deposed may still answer
// for a moment; a Swap of what it said is refused.
func (s *Store) Load(ctx context.Context, key string) (checkpoint.Row, error) {
	subject, err := s.subject(key)
	if err != nil {
		return checkpoint.Row{}, err
	}
	row, _, err := s.read(ctx, subject)
	if err != nil {
		return checkpoint.Row{}, fmt.Errorf("natsstore: load %s: %w", key, err)
	}
	return row, nil
}

// Keys reads the bucket from its beginning, one round trip a key.
func (s *Store) Keys(ctx context.Context, each func(key string) bool) error {
	const batch = 64
	for from := uint64(1); ; {
		rows, err := s.stream.Range(ctx, s.prefix+">", from, batch)
		if err != nil {
			return fmt.Errorf("natsstore: keys: %w", err)
		}
		for _, m := range rows {
			if from = m.Seq + 1; !deleted(m) && !each(m.Subject[len(s.prefix):]) {
				return nil
			}
		}
		if len(rows) < batch {
			return nil
		}
	}
}

// read returns the row of a subject and the sequence that a write of it must
// expect. The two differ for a key that was deleted with the key-value API: there
// is no row, and a marker in its place.
func (s *Store) read(ctx context.Context, subject string) (row checkpoint.Row, last uint64, err error) {
	m, err := s.stream.Last(ctx, subject)
	switch {
	case errors.Is(err, botmesh.ErrNotFound):
		return checkpoint.Row{}, 0, nil
	case err != nil:
		return checkpoint.Row{}, 0, err
	case deleted(m):
		return checkpoint.Row{}, m.Seq, nil
	}
	return checkpoint.Row{Value: m.Data, Revision: m.Seq, Nonce: m.Header.Get(nonceHeader), Written: m.Time}, m.Seq, nil
}

func deleted(m jet.Stored) bool {
	return m.Header.Get(operationHeader) != "" || m.Header.Get(markerHeader) != ""
}

// subject is where a key's row lies.
func (s *Store) subject(key string) (string, error) {
	ok := key != "" && key[0] != '.' && key[len(key)-1] != '.'
	for i := range len(key) {
		c := key[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			c == '-' || c == '/' || c == '_' || c == '=' || c == '.')
	}
	if !ok {
		return "", fmt.Errorf("natsstore: %q can not be a key: want [-/_=.a-zA-Z0-9]+ without a dot at either end", key)
	}
	return s.prefix + key, nil
}

func publish(subject string, value []byte, nonce string, ttl time.Duration) jet.Publish {
	return jet.Publish{
		Msg: jet.Msg{Subject: subject, Header: nats.Header{nonceHeader: {nonce}}, Data: value},
		TTL: ttl,
	}
}
