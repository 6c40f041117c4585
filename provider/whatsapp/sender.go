package whatsapp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/httpcall"
)

// DefaultAPI is the address of the Graph API, with the version that this package
// speaks.
const DefaultAPI = "https://graph.facebook.com/v26.0"

// defaultChoose is what the button says that opens a list.
const defaultChoose = "Choose"

var tokenForm = regexp.MustCompile(`^[A-Za-z0-9_.|:-]+$`)

// SenderConfig configures a [Sender].
type SenderConfig struct {
	// ID is the provider's instance id. Defaults to [ID].
	ID string
	// AccessToken may send for the number. Required. It is in no error.
	AccessToken string
	// PhoneNumberID is the id (not the phone number) of the number to send from.
	// Required.
	PhoneNumberID string
	// API is the base address of the Graph API, with its version. Defaults to
	// [DefaultAPI].
	API string
	// Choose is what the button says that opens a list of four to ten choices, 1 to
	// 20 characters. Defaults to "Choose".
	Choose string
	// Transport makes the calls; see [httpcall.Config].
	Transport http.RoundTripper
}

// Sender sends from a number of WhatsApp Business. WhatsApp recognises no repeated
// call, so a call without an answer stays in doubt; the part's id comes back in
// the message's statuses.
type Sender struct {
	id, api, number, choose string
	header                  http.Header
	client                  *httpcall.Client
}

var (
	_ provider.Sender  = (*Sender)(nil)
	_ provider.Opener  = (*Sender)(nil)
	_ provider.Limited = (*Sender)(nil)

	_ provider.Attacher = (*Sender)(nil)
	_ provider.Styler   = (*Sender)(nil)
	_ provider.Typist   = (*Sender)(nil)
)

// What WhatsApp allows: 80 messages a second of a number, one in six seconds to one
// user, of which 45 may come at once and are paid back
// (https://developers.facebook.com/docs/whatsapp/cloud-api/overview#throughput and
// #pair-rate-limits). A burst and the rate together stay within that.
var (
	accountRate = provider.Rate{Every: time.Second / 70, Burst: 10}
	pairRate    = provider.Rate{Every: pairDelay, Burst: 45}
)

// Limits implements [provider.Limited]. Several numbers share what one is allowed.
func (s *Sender) Limits(botmesh.ChatKey) provider.Limits {
	return provider.Limits{Chat: pairRate, Account: accountRate}
}

// NewSender makes a Sender. The error names everything that is wrong with cfg,
// without the token.
func NewSender(cfg SenderConfig) (*Sender, error) {
	if cfg.ID == "" {
		cfg.ID = ID
	}
	if cfg.API == "" {
		cfg.API = DefaultAPI
	}
	if cfg.Choose == "" {
		cfg.Choose = defaultChoose
	}
	var errs []error
	if !botmesh.ValidName(cfg.ID) {
		errs = append(errs, fmt.Errorf("whatsapp: id %q does not match [a-z0-9-]{1,32}", cfg.ID))
	}
	if !tokenForm.MatchString(cfg.AccessToken) {
		errs = append(errs, errors.New("whatsapp: the access token is missing or has not the form of one"))
	}
	if !numberForm.MatchString(cfg.PhoneNumberID) {
		errs = append(errs, errors.New("whatsapp: the phone number id is missing or not 1 to 32 digits"))
	}
	if n := text.Unit.Len(cfg.Choose); n > maxChoose {
		errs = append(errs, fmt.Errorf("whatsapp: the text of the list's button has %d characters, want at most %d", n, maxChoose))
	}
	if err := httpcall.CheckBase(cfg.API); err != nil {
		errs = append(errs, fmt.Errorf("whatsapp: %w", err))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Sender{
		id: cfg.ID, api: strings.TrimRight(cfg.API, "/"), number: cfg.PhoneNumberID, choose: cfg.Choose,
		header: http.Header{"Authorization": {"Bearer " + cfg.AccessToken}},
		client: httpcall.New(httpcall.Config{Transport: cfg.Transport, Secret: cfg.AccessToken}),
	}, nil
}

// ID is the provider's instance id.
func (s *Sender) ID() string { return s.id }

// Close closes the idle connections of the sender's own transport.
func (s *Sender) Close() { s.client.Close() }

// outgoing is a message as the platform takes it.
type outgoing struct {
	Product       string       `json:"messaging_product"`
	RecipientType string       `json:"recipient_type"`
	To            string       `json:"to,omitempty"`
	Recipient     string       `json:"recipient,omitempty"`
	Type          string       `json:"type"`
	Text          *body        `json:"text,omitempty"`
	Interactive   *interactive `json:"interactive,omitempty"`
	attachment
	// Opaque comes back in the message's statuses.
	Opaque string `json:"biz_opaque_callback_data"`
}

type body struct {
	Body string `json:"body,omitempty"`
	Text string `json:"text,omitempty"`
}

// Call sends one message. That the platform takes it does not say that it arrives:
// a status tells that later.
//
// The error is made by [provider.Retry] for the platform's rate limits (with its
// delay, if it names one) and for what it says is out of order for now, when the
// call was never written, and when the token, the number or the account is wrong:
// the message goes out once that is put right. It is made by [provider.Permanent]
// for what the platform has against the message or its recipient, and by
// [provider.Blocked] once the user was silent for a day. All else leaves
// open whether the message was sent: a lost answer, one that says nothing, and a
// 5xx without a reason.
func (s *Sender) Call(ctx context.Context, c provider.Call) (_ provider.Sent, err error) {
	to, err := parseAddress(c.Chat.Chat)
	if err != nil {
		return provider.Sent{}, provider.Permanent(err)
	}
	c.Send = shown(c.Send)
	defer func() { err = provider.Unsaid(err, c.Send) }() // the text with its marks, which nobody else knows
	msg := outgoing{Product: "whatsapp", RecipientType: "individual", To: to.to, Type: "text", Text: &body{Body: c.Send.Text}, Opaque: c.Part}
	switch {
	case to.group:
		msg.RecipientType = "group"
	case !phoneForm.MatchString(to.to):
		msg.To, msg.Recipient = "", to.to
	}
	if len(c.Send.Buttons) > 0 {
		if msg.Interactive = s.interactive(c.Send); msg.Interactive == nil {
			return provider.Sent{}, provider.Permanent(errors.New("whatsapp: the buttons fit neither below a message nor in a list"))
		}
		msg.Type, msg.Text = "interactive", nil
	}
	if c.Send.Media != nil {
		msg.attach(c.Send)
	}
	data, err := json.Marshal(msg)
	if err != nil {
		return provider.Sent{}, provider.Permanent(fmt.Errorf("whatsapp: %w", err))
	}
	got, err := s.client.Post(ctx, s.messages(to), s.header, data)
	if err != nil {
		return provider.Sent{}, fmt.Errorf("whatsapp: sending a message: %w", err)
	}
	return outcome(got)
}

// messages is where the messages of the number that a chat is with are posted to.
func (s *Sender) messages(to address) string {
	return s.api + "/" + cmp.Or(to.number, s.number) + "/messages"
}
