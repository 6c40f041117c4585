// Package telegram speaks to Telegram: webhooks of the Bot API or long polling in,
// sendMessage out.
//
// What belongs here: what Telegram sends, how it says no, its limits, and how
// its chats map to chat keys:
//
//   - a private chat is "<chat>", and so is a channel;
//   - in a group the participant is the user's id, or the id of the chat in whose
//     name an anonymous administrator or a channel writes;
//   - a topic is a chat of its own, "<chat>/<topic>". A thread of plain replies is
//     not: its messages carry a thread number too, but no is_topic_message;
//   - a customer of a connected business account is "biz:<connection>:<chat>".
//
// Package telegram/telegramtest is a Telegram to test against.
package telegram

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// ID is the provider id of the one Telegram account that most installations have.
const ID = "telegram"

// SecretHeader carries the secret that setWebhook was given.
const SecretHeader = "X-Telegram-Bot-Api-Secret-Token"

// DefaultMaxBody bounds a webhook's body. An update is a few kilobytes.
const DefaultMaxBody = 1 << 20

var secretForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)

// ReceiverConfig configures a [Receiver].
type ReceiverConfig struct {
	// ID is the provider's instance id. Defaults to [ID].
	ID string
	// Secret is the secret_token that setWebhook was given: 1 to 256 letters,
	// digits, "_" and "-". Required; without it everybody could post.
	Secret string
	// MaxBody bounds a webhook's body, in bytes. Defaults to [DefaultMaxBody].
	MaxBody int64
}

// Receiver takes Telegram's webhooks.
type Receiver struct {
	parser
	secret  [sha256.Size]byte
	maxBody int64
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
	var errs []error
	if !botmesh.ValidName(cfg.ID) {
		errs = append(errs, fmt.Errorf("telegram: id %q does not match [a-z0-9-]{1,32}", cfg.ID))
	}
	if !secretForm.MatchString(cfg.Secret) {
		errs = append(errs, errors.New("telegram: the webhook secret must be 1 to 256 letters, digits, _ or -"))
	}
	if cfg.MaxBody < 0 {
		errs = append(errs, errors.New("telegram: the body bound is negative"))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Receiver{parser: parser{cfg.ID}, secret: sha256.Sum256([]byte(cfg.Secret)), maxBody: cfg.MaxBody}, nil
}

// ID is the provider's instance id.
func (r *Receiver) ID() string { return r.id }

// MaxBody bounds a webhook's body, in bytes.
func (r *Receiver) MaxBody() int64 { return r.maxBody }

var errSecret = errors.New("telegram: the secret token is missing or wrong")

// Verify checks the secret token. Hashes are compared, so that the time it takes
// tells nothing, not even the secret's length.
func (r *Receiver) Verify(h http.Header, _ []byte) error {
	got := sha256.Sum256([]byte(h.Get(SecretHeader)))
	if subtle.ConstantTimeCompare(got[:], r.secret[:]) != 1 {
		return errSecret
	}
	return nil
}

// Answer takes the waiting sign off a pressed button. Telegram makes the call
// that the answer to a webhook names; whether it did is not told, and nothing
// depends on it.
func (r *Receiver) Answer(body []byte) []byte {
	if !bytes.Contains(body, []byte(`"callback_query"`)) {
		return nil
	}
	var u update
	if err := provider.DecodeJSON(body, &u); err != nil || u.Callback == nil || u.Callback.ID == "" {
		return nil
	}
	answer, err := json.Marshal(struct {
		Method string `json:"method"`
		ID     string `json:"callback_query_id"`
	}{"answerCallbackQuery", u.Callback.ID})
	if err != nil {
		return nil
	}
	return answer
}
