// Package whatsapp speaks to the WhatsApp Cloud API: webhooks of the WhatsApp
// Business platform in, messages of a business number out.
//
// What belongs here: what the platform sends, how it says no, its limits, and how
// its chats map to chat keys:
//
//   - a user is "<user id>" (business-scoped, such as "US.123"), or the phone
//     number where the platform tells no user id;
//   - a group is "group:<group id>", with the user as participant;
//   - what was written to another number of the same app than the receiver's own
//     is "<number id>@<the above>", and answered from that number.
//
// Users format their texts by marks (*bold*), and so can bots; nothing switches
// that off. Two messages sent one after the other may arrive the other way round.
//
// Package whatsapp/whatsapptest is a WhatsApp to test against.
package whatsapp

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// ID is the provider id of the one WhatsApp number that most installations have.
const ID = "whatsapp"

// SignatureHeader carries the signature of a webhook: "sha256=" and the HMAC of the
// raw body in hexadecimal.
const SignatureHeader = "X-Hub-Signature-256"

// DefaultMaxBody bounds a webhook's body. The platform sends up to 3 MB.
const DefaultMaxBody = 4 << 20

// maxChallenge is the longest challenge that is answered, in bytes.
const maxChallenge = 1024

var numberForm = regexp.MustCompile(`^[0-9]{1,32}$`)

// ReceiverConfig configures a [Receiver].
type ReceiverConfig struct {
	// ID is the provider's instance id. Defaults to [ID].
	ID string
	// AppSecret is the secret of the Meta app, which signs every webhook. Required;
	// without it everybody could post.
	AppSecret string
	// VerifyToken is what was entered beside the webhook's address. Without it the
	// platform can not verify the address, and all else works.
	VerifyToken string
	// PhoneNumberID is the id (not the phone number) of the number that is this
	// account's. Without it all numbers of the app count as one; set it where there
	// are several.
	PhoneNumberID string
	// MaxBody bounds a webhook's body, in bytes. Defaults to [DefaultMaxBody].
	MaxBody int64
}

// Receiver takes WhatsApp's webhooks.
type Receiver struct {
	id      string
	secret  []byte
	verify  string
	number  string
	maxBody int64
}

var (
	_ provider.Receiver   = (*Receiver)(nil)
	_ provider.Handshaker = (*Receiver)(nil)
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
		errs = append(errs, fmt.Errorf("whatsapp: id %q does not match [a-z0-9-]{1,32}", cfg.ID))
	}
	if cfg.AppSecret == "" {
		errs = append(errs, errors.New("whatsapp: no app secret"))
	}
	if cfg.PhoneNumberID != "" && !numberForm.MatchString(cfg.PhoneNumberID) {
		errs = append(errs, errors.New("whatsapp: the phone number id must be 1 to 32 digits"))
	}
	if cfg.MaxBody < 0 {
		errs = append(errs, errors.New("whatsapp: the body bound is negative"))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Receiver{id: cfg.ID, secret: []byte(cfg.AppSecret), verify: cfg.VerifyToken, number: cfg.PhoneNumberID, maxBody: cfg.MaxBody}, nil
}

// ID is the provider's instance id.
func (r *Receiver) ID() string { return r.id }

// MaxBody bounds a webhook's body, in bytes.
func (r *Receiver) MaxBody() int64 { return r.maxBody }

var errSignature = errors.New("whatsapp: the signature is missing or wrong")

// Verify checks the signature over the raw body. The platform signs no time: what
// was recorded once can be posted again, and is then a duplicate.
func (r *Receiver) Verify(h http.Header, body []byte) error {
	mac := hmac.New(sha256.New, r.secret)
	mac.Write(body)
	want := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	if subtle.ConstantTimeCompare([]byte(h.Get(SignatureHeader)), []byte(want)) != 1 {
		return errSignature
	}
	return nil
}

// Handshake answers the platform's challenge if it knows the verify token.
func (r *Receiver) Handshake(query url.Values) (string, error) {
	got, want := sha256.Sum256([]byte(query.Get("hub.verify_token"))), sha256.Sum256([]byte(r.verify))
	known := subtle.ConstantTimeCompare(got[:], want[:]) == 1
	challenge := query.Get("hub.challenge")
	switch {
	case r.verify == "" || !known:
		return "", errors.New("whatsapp: the verify token is missing or wrong")
	case query.Get("hub.mode") != "subscribe" || challenge == "" || len(challenge) > maxChallenge:
		return "", errors.New("whatsapp: not a challenge")
	}
	return challenge, nil
}
