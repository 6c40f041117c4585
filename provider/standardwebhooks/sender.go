package standardwebhooks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/httpcall"
)

// DefaultMaxText is the longest text of a message, in bytes: a webhook should be
// below 20 kB.
const DefaultMaxText = 16 << 10

// SenderConfig configures a [Sender].
type SenderConfig struct {
	// ID is the provider's instance id. Defaults to [ID].
	ID string
	// Secret signs what is sent: "whsec_" and the base64 of 24 to 64 bytes. Of
	// several, parted by spaces, all sign, so that the backend may take any.
	// Required. It is in no error.
	Secret string
	// API is the backend's address, to which every message is posted. Required.
	API string
	// MaxText is the longest text that the backend takes, in bytes; a longer one is
	// sent in parts. Defaults to [DefaultMaxText].
	MaxText int
	// PrivateFiles lets files be read from any http or https address, also of one's own
	// network. Else they are read from public ones alone, by https: whoever chooses a
	// reference could have the bot look at what only its network may.
	PrivateFiles bool
	// Transport makes the calls; see [httpcall.Config].
	Transport http.RoundTripper
	// Now is the time. Defaults to time.Now.
	Now func() time.Time
}

// Sender posts to a backend, which knows a repeated message by its webhook-id.
type Sender struct {
	id, api string
	secrets [][]byte
	text    provider.Splitter
	now     func() time.Time
	client  *httpcall.Client
	files   *httpcall.Public
}

var (
	_ provider.Sender     = (*Sender)(nil)
	_ provider.Opener     = (*Sender)(nil)
	_ provider.Attacher   = (*Sender)(nil)
	_ provider.Styler     = (*Sender)(nil)
	_ provider.Idempotent = (*Sender)(nil)
)

// NewSender makes a Sender. The error names everything that is wrong with cfg,
// without the secret.
func NewSender(cfg SenderConfig) (*Sender, error) {
	if cfg.ID == "" {
		cfg.ID = ID
	}
	if cfg.MaxText == 0 {
		cfg.MaxText = DefaultMaxText
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	var errs []error
	if !botmesh.ValidName(cfg.ID) {
		errs = append(errs, fmt.Errorf("standardwebhooks: id %q does not match [a-z0-9-]{1,32}", cfg.ID))
	}
	k, err := parseKeys(cfg.Secret)
	if errs = append(errs, err); len(k.publics) > 0 {
		errs = append(errs, errors.New("standardwebhooks: a public key signs nothing"))
	}
	if err := httpcall.CheckBase(cfg.API); err != nil {
		errs = append(errs, fmt.Errorf("standardwebhooks: %w", err))
	}
	if cfg.MaxText < 4 {
		errs = append(errs, errors.New("standardwebhooks: the longest text must be at least 4 bytes"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Sender{
		id: cfg.ID, api: cfg.API, secrets: k.secrets, now: cfg.Now,
		text:   provider.Splitter{Unit: provider.Bytes, Max: cfg.MaxText},
		client: httpcall.New(httpcall.Config{Transport: cfg.Transport}),
		files:  httpcall.NewPublic(cfg.PrivateFiles),
	}, nil
}

// ID is the provider's instance id.
func (s *Sender) ID() string { return s.id }

// Close closes the idle connections of the sender's own transports.
func (s *Sender) Close() {
	s.client.Close()
	s.files.Close()
}

// IdempotentCalls reports that a backend knows a repeated message by its id.
func (s *Sender) IdempotentCalls() bool { return true }

// Attaches implements [provider.Attacher]: what becomes of a file is the backend's own.
func (s *Sender) Attaches(botmesh.Media) bool { return true }

// Styles implements [provider.Styler]: the backend is given all spans.
func (s *Sender) Styles(botmesh.Span) bool { return true }

// Split cuts a text over MaxText, see [provider.Splitter], and what is over
// [DefaultMaxText] together with its spans. The buttons are with the last part, a file
// with the first.
func (s *Sender) Split(send botmesh.Send) []botmesh.Send {
	parts := provider.Parts(s.text.SplitStyled(send, s.text.Max, s.size), send.Buttons)
	parts[0].Media = send.Media
	return parts
}

// size is what a send takes of MaxText. The spans take what a webhook has room for
// besides the longest text, and only then of that.
func (s *Sender) size(send botmesh.Send) int {
	spans, err := json.Marshal(send.Spans)
	if err != nil {
		panic(err) // there are only strings and numbers in it
	}
	return len(send.Text) + len(spans) - max(0, DefaultMaxText-s.text.Max)
}

type outgoing struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      data      `json:"data"`
}

type data struct {
	Conversation string `json:"conversation"`
	Participant  string `json:"participant,omitempty"`
	// ID is the part's, for people; webhook-id is made of it.
	ID      string             `json:"id"`
	Text    string             `json:"text"`
	Spans   []botmesh.Span     `json:"spans,omitempty"`
	Media   *botmesh.Media     `json:"media,omitempty"`
	Buttons [][]botmesh.Button `json:"buttons,omitempty"`
}

// MessageID is the webhook-id of a part, which is also its message's id in the
// receipt.
func MessageID(part string) string {
	sum := sha256.Sum256([]byte(part))
	return "msg_" + hex.EncodeToString(sum[:16])
}

// Call posts one message. Any 2xx is a delivery.
//
// The error is made by [provider.Retry] for 408, 429, 502, 503 and 504 (with the
// backend's Retry-After), when the call was never written, and when the address or
// the secret is wrong (a redirect, 401, 403, 404, 405): the message goes out once
// that is put right. Any other 4xx, of which 410 says that the backend wants no
// more, makes one by [provider.Permanent]. All else leaves open whether the
// message was taken; it is posted again under the same id.
func (s *Sender) Call(ctx context.Context, c provider.Call) (provider.Sent, error) {
	if c.Chat.Chat == "" || c.Chat.Chat == nowhere {
		return provider.Sent{}, provider.Permanent(errors.New("standardwebhooks: no conversation"))
	}
	if s.size(c.Send) > s.text.Max {
		c.Send.Spans = nil // see provider.SplitStyled
	}
	now := s.now().UTC()
	body, err := json.Marshal(outgoing{"message.send", now, data{
		Conversation: c.Chat.Chat, Participant: c.Chat.Participant, ID: c.Part,
		Text: c.Send.Text, Spans: c.Send.Spans, Media: c.Send.Media, Buttons: c.Send.Buttons,
	}})
	if err != nil {
		return provider.Sent{}, provider.Permanent(fmt.Errorf("standardwebhooks: %w", err))
	}
	id := MessageID(c.Part)
	got, err := s.client.Post(ctx, s.api, s.header(id, now, body), body)
	if err != nil {
		return provider.Sent{}, fmt.Errorf("standardwebhooks: posting a message: %w", err)
	}
	if got.Status >= 200 && got.Status < 300 {
		return provider.Sent{MessageID: id}, nil
	}
	return provider.Sent{}, refusal(got)
}

func refusal(got httpcall.Answer) error {
	err := fmt.Errorf("standardwebhooks: the backend answered %d %s", got.Status, http.StatusText(got.Status))
	switch got.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return provider.Retry(err, got.RetryAfter())
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed:
		return provider.RetryAll(fmt.Errorf("%w: the address or the secret is wrong", err), httpcall.AccountDelay)
	}
	switch {
	case got.Status < 400:
		return provider.RetryAll(fmt.Errorf("%w: the address is wrong", err), httpcall.AccountDelay)
	case got.Status < 500:
		return provider.Permanent(err)
	}
	return err
}

func (s *Sender) header(id string, now time.Time, body []byte) http.Header {
	stamp := fmt.Sprint(now.Unix())
	var signatures string
	for i, secret := range s.secrets {
		if i > 0 {
			signatures += " "
		}
		signatures += sign(secret, id, stamp, body)
	}
	return http.Header{IDHeader: {id}, TimestampHeader: {stamp}, SignatureHeader: {signatures}}
}
