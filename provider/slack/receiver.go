// Package slack speaks to Slack: the Events API, interactivity and slash commands
// in, chat.postMessage out.
//
// What belongs here: what Slack sends, how it says no, its limits, and how its
// conversations map to chat keys:
//
//   - a direct message is "<channel>";
//   - in any other channel the participant is the user's id, with
//     "<workspace>:" before it if he is of another workspace (in a channel that is
//     shared);
//   - a thread is a chat of its own, "<channel>/<time stamp of its first message>".
//
// One message comes under several event ids (a mention of the bot is also a
// message): it is known by workspace, channel and time stamp, and is one record.
// What the bot itself wrote is dropped, and what other bots wrote is an event.
//
// Package slack/slacktest is a Slack to test against.
package slack

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// ID is the provider id of the one Slack app that most installations have.
const ID = "slack"

// The headers of a request that sign it.
const (
	SignatureHeader = "X-Slack-Signature"
	TimestampHeader = "X-Slack-Request-Timestamp"
)

const (
	// DefaultMaxBody bounds a webhook's body. An event is a few kilobytes.
	DefaultMaxBody = 1 << 20
	// Tolerance is how far a request's time may be from ours.
	Tolerance = 5 * time.Minute
)

// ReceiverConfig configures a [Receiver].
type ReceiverConfig struct {
	// ID is the provider's instance id. Defaults to [ID].
	ID string
	// SigningSecret is the app's. Required; without it everybody could post.
	SigningSecret string
	// MaxBody bounds a webhook's body, in bytes. Defaults to [DefaultMaxBody].
	MaxBody int64
	// Now is the time. Defaults to time.Now.
	Now func() time.Time
}

// Receiver takes Slack's events, button presses and slash commands, all at one
// address.
type Receiver struct {
	id      string
	secret  []byte
	maxBody int64
	now     func() time.Time
}

var (
	_ provider.Receiver = (*Receiver)(nil)
	_ provider.Answerer = (*Receiver)(nil)
)

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
		errs = append(errs, fmt.Errorf("slack: id %q does not match [a-z0-9-]{1,32}", cfg.ID))
	}
	if cfg.SigningSecret == "" {
		errs = append(errs, errors.New("slack: no signing secret"))
	}
	if cfg.MaxBody < 0 {
		errs = append(errs, errors.New("slack: the body bound is negative"))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Receiver{id: cfg.ID, secret: []byte(cfg.SigningSecret), maxBody: cfg.MaxBody, now: cfg.Now}, nil
}

// ID is the provider's instance id.
func (r *Receiver) ID() string { return r.id }

// MaxBody bounds a webhook's body, in bytes.
func (r *Receiver) MaxBody() int64 { return r.maxBody }

// Verify checks the signature over the request's time and the raw body, and that
// the time is within [Tolerance] of ours.
func (r *Receiver) Verify(h http.Header, body []byte) error {
	stamp := h.Get(TimestampHeader)
	mac := hmac.New(sha256.New, r.secret)
	fmt.Fprintf(mac, "v0:%s:", stamp)
	mac.Write(body)
	want := "v0=" + hex.EncodeToString(mac.Sum(nil))
	if subtle.ConstantTimeCompare([]byte(h.Get(SignatureHeader)), []byte(want)) != 1 {
		return errors.New("slack: the signature is missing or wrong")
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return errors.New("slack: the request has no time")
	}
	if age := r.now().Unix() - seconds; age > int64(Tolerance/time.Second) || age < -int64(Tolerance/time.Second) {
		return provider.Refusal("the time of the request is too far off")
	}
	return nil
}

// Answer gives the challenge back by which Slack verifies the address.
func (r *Receiver) Answer(body []byte) []byte {
	var v struct {
		Type      string `json:"type"`
		Challenge string `json:"challenge"`
	}
	if provider.DecodeJSON(body, &v) != nil || v.Type != verification || v.Challenge == "" {
		return nil // a form, or an event
	}
	answer, err := json.Marshal(map[string]string{"challenge": v.Challenge})
	if err != nil {
		return nil
	}
	return answer
}
