// Package standardwebhooks makes any backend a channel, by webhooks in both
// directions that are signed as Standard Webhooks are (standardwebhooks.com): a
// mobile app's server, a help desk, a platform that Botmesh does not know.
//
// What belongs here: the signature, and the few types of events below.
//
// In, a backend posts what its users do:
//
//	{"type": "message.created", "timestamp": "2026-11-30T10:00:00Z", "data": {
//	    "conversation": "c1", "user": "u1", "id": "m1", "text": "hello"}}
//
// The other types are message.updated and message.deleted (data.id names the
// message), button.pressed (data.payload, data.of), reaction.created (data.of,
// data.text), message.status (data.of, data.status: what became of a message of
// the bot's), user.opted_out and user.opted_in (data.category: of what kind of
// messages). All else is kept as an event. data may also have "participant", for
// a conversation of several users of which each has one of his own with the bot,
// "user_name", "locale", "reply_to" and "media" (kind, ref, name, type, size).
//
// Out, the bot's messages are posted to the backend in the same way:
//
//	{"type": "message.send", "timestamp": "…", "data": {
//	    "conversation": "c1", "id": "…", "text": "hi", "buttons": [[{"label": "Yes", "payload": "y"}]]}}
//
// The webhook-id of a message is the same on every attempt: a backend that has
// seen it answers 200 and does nothing.
package standardwebhooks

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// ID is the provider id of the one backend that most installations have.
const ID = "standardwebhooks"

const (
	// DefaultMaxBody bounds a webhook's body.
	DefaultMaxBody = 256 << 10
	// Tolerance is how far a webhook's time may be from ours.
	Tolerance = 5 * time.Minute
)

// ReceiverConfig configures a [Receiver].
type ReceiverConfig struct {
	// ID is the provider's instance id. Defaults to [ID].
	ID string
	// Secret is what the backend signs with: "whsec_" and the base64 of 24 to 64
	// bytes, or "whpk_" and that of an Ed25519 public key. Several, parted by
	// spaces, are all good. Required; without it everybody could post.
	Secret string
	// MaxBody bounds a webhook's body, in bytes. Defaults to [DefaultMaxBody].
	MaxBody int64
	// Now is the time. Defaults to time.Now.
	Now func() time.Time
}

// Receiver takes a backend's webhooks.
type Receiver struct {
	id      string
	keys    keys
	maxBody int64
	now     func() time.Time
}

var _ provider.Receiver = (*Receiver)(nil)

// NewReceiver makes a Receiver. The error names everything that is wrong with cfg.
func NewReceiver(cfg ReceiverConfig) (*Receiver, error) {
	if cfg.ID == "" {
		cfg.ID = ID
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = DefaultMaxBody
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	var errs []error
	if !botmesh.ValidName(cfg.ID) {
		errs = append(errs, fmt.Errorf("standardwebhooks: id %q does not match [a-z0-9-]{1,32}", cfg.ID))
	}
	k, err := parseKeys(cfg.Secret)
	errs = append(errs, err)
	if cfg.MaxBody < 0 {
		errs = append(errs, errors.New("standardwebhooks: the body bound is negative"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Receiver{id: cfg.ID, keys: k, maxBody: cfg.MaxBody, now: cfg.Now}, nil
}

// ID is the provider's instance id.
func (r *Receiver) ID() string { return r.id }

// MaxBody bounds a webhook's body, in bytes.
func (r *Receiver) MaxBody() int64 { return r.maxBody }

// Verify checks that one of the signatures over id, time and raw body is by one of
// the keys, and that the time is within [Tolerance] of ours.
func (r *Receiver) Verify(h http.Header, body []byte) error {
	if !r.keys.verify(h, body) {
		return errors.New("standardwebhooks: the signature is missing or wrong")
	}
	seconds, err := strconv.ParseInt(h.Get(TimestampHeader), 10, 64)
	if err != nil {
		return errors.New("standardwebhooks: the webhook has no time")
	}
	if age := r.now().Unix() - seconds; age > int64(Tolerance/time.Second) || age < -int64(Tolerance/time.Second) {
		return provider.Refusal("the time of the webhook is too far off")
	}
	return nil
}
