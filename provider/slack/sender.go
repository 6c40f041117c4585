package slack

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

// DefaultAPI is the address of the Web API.
const DefaultAPI = "https://slack.com/api"

var tokenForm = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// SenderConfig configures a [Sender].
type SenderConfig struct {
	// ID is the provider's instance id. Defaults to [ID].
	ID string
	// Token is the bot's token (xoxb-…). Required. It is in no error.
	Token string
	// API is the base address of the Web API. Defaults to [DefaultAPI].
	API string
	// Transport makes the calls; see [httpcall.Config].
	Transport http.RoundTripper
}

// Sender sends to Slack. Slack recognises no repeated call, so a call without an
// answer stays in doubt; the part's id is in the message's metadata.
type Sender struct {
	id, url string
	header  http.Header
	client  *httpcall.Client
}

var (
	_ provider.Sender  = (*Sender)(nil)
	_ provider.Opener  = (*Sender)(nil)
	_ provider.Limited = (*Sender)(nil)
	_ provider.Editor  = (*Sender)(nil)

	_ provider.Attacher = (*Sender)(nil)
	_ provider.Styler   = (*Sender)(nil)
)

// What Slack allows of chat.postMessage: one message a second in a channel but for
// short bursts, and several hundred a minute in a workspace
// (https://docs.slack.dev/apis/web-api/rate-limits).
var (
	accountRate = provider.Rate{Every: time.Minute / 300, Burst: 10}
	channelRate = provider.Rate{Every: time.Second, Burst: 5}
)

// Limits implements [provider.Limited].
func (s *Sender) Limits(chat botmesh.ChatKey) provider.Limits {
	l := provider.Limits{Chat: channelRate, Account: accountRate}
	if to, err := parseAddress(chat.Chat); err == nil {
		l.Address = to.channel // all threads of it are one
	}
	return l
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
	var errs []error
	if !botmesh.ValidName(cfg.ID) {
		errs = append(errs, fmt.Errorf("slack: id %q does not match [a-z0-9-]{1,32}", cfg.ID))
	}
	if !tokenForm.MatchString(cfg.Token) {
		errs = append(errs, errors.New("slack: the token is missing or has not the form of one"))
	}
	if err := httpcall.CheckBase(cfg.API); err != nil {
		errs = append(errs, fmt.Errorf("slack: %w", err))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Sender{
		id:     cfg.ID,
		url:    strings.TrimRight(cfg.API, "/") + "/",
		header: http.Header{"Authorization": {"Bearer " + cfg.Token}},
		client: httpcall.New(httpcall.Config{Transport: cfg.Transport, Secret: cfg.Token}),
	}, nil
}

// ID is the provider's instance id.
func (s *Sender) ID() string { return s.id }

// Close closes the idle connections of the sender's own transport.
func (s *Sender) Close() { s.client.Close() }

// outgoing is a call of chat.postMessage, or of chat.update.
type outgoing struct {
	Channel  string   `json:"channel"`
	Stamp    string   `json:"ts,omitempty"` // of the message that is changed
	Thread   string   `json:"thread_ts,omitempty"`
	Text     string   `json:"text"`
	Markdown bool     `json:"mrkdwn"` // false: the text is shown as it is
	Blocks   []block  `json:"blocks,omitempty"`
	Metadata metadata `json:"metadata"`
}

type metadata struct {
	Type    string `json:"event_type"`
	Payload struct {
		Part string `json:"part"`
	} `json:"event_payload"`
}

// Call sends one message, whose text is shown as it is, without markup but for its spans.
//
// The error is made by [provider.Retry] for a rate limit (with Slack's delay), for
// what Slack says is out of order for now, when the call was never written, and
// when the token or the address is wrong or the app may not send: the message goes
// out once that is put right. It is made by [provider.Permanent] for what Slack has
// against the message or its channel. All else leaves open whether the message was
// sent: a lost answer, one that says nothing, 5xx, and the errors of which Slack
// says itself that the call may have succeeded in part.
func (s *Sender) Call(ctx context.Context, c provider.Call) (provider.Sent, error) {
	to, err := parseAddress(c.Chat.Chat)
	if err != nil {
		return provider.Sent{}, provider.Permanent(err)
	}
	return s.say(ctx, "chat.postMessage", outgoing{Channel: to.channel, Thread: to.thread}, c, content)
}

// content is what a message has besides a text as it is, nil for nothing. Its buttons fit.
func content(send botmesh.Send) []block {
	switch {
	case send.Media != nil:
		return withImage(send)
	case len(send.Buttons) > 0:
		return blocks(send)
	case len(send.Spans) > 0:
		return texts(send)
	}
	return nil
}

var errButtons = provider.Permanent(errors.New("slack: the buttons do not fit below a message"))

// Edit implements [provider.Editor]. An administrator may have closed the time in which
// messages can be changed; then Slack refuses, and the text is a message of its own.
//
// What the message says then is in blocks: they alone are shown as they are after
// chat.update, and each edit replaces those before
// (https://docs.slack.dev/reference/methods/chat.update).
func (s *Sender) Edit(ctx context.Context, c provider.Call, messageID string) error {
	to, err := parseAddress(c.Chat.Chat)
	if err != nil {
		return provider.Permanent(err)
	}
	if !stampForm.MatchString(messageID) {
		return provider.Permanent(fmt.Errorf("slack: message %q is not a message's time stamp", messageID))
	}
	_, err = s.say(ctx, "chat.update", outgoing{Channel: to.channel, Stamp: messageID}, c, func(send botmesh.Send) []block {
		if len(send.Buttons) > 0 {
			return blocks(send)
		}
		return texts(send)
	})
	return err
}

// say makes a call with the blocks of c. If Slack refuses those of a text with spans, it is
// called again at once with the plain text: it certainly took nothing, so nothing comes twice.
func (s *Sender) say(ctx context.Context, method string, msg outgoing, c provider.Call, content func(botmesh.Send) []block) (provider.Sent, error) {
	if len(c.Send.Buttons) > 0 && blocks(c.Send) == nil {
		return provider.Sent{}, errButtons
	}
	msg.Blocks = content(c.Send)
	sent, err := s.call(ctx, method, msg, c)
	if errors.Is(err, errBlocks) && len(c.Send.Spans) > 0 {
		c.Send = unstyled(c.Send)
		msg.Blocks = content(c.Send)
		return s.call(ctx, method, msg, c)
	}
	return sent, err
}

// errBlocks is that Slack does not take the blocks of a message.
var errBlocks = errors.New("the message's blocks are refused")

// call calls a method of the Web API with what c says.
func (s *Sender) call(ctx context.Context, method string, msg outgoing, c provider.Call) (provider.Sent, error) {
	msg.Text = escape.Replace(cmp.Or(c.Send.Text, alt(c.Send.Media)))
	msg.Metadata.Type, msg.Metadata.Payload.Part = "botmesh_part", c.Part
	data, err := json.Marshal(msg)
	if err != nil {
		return provider.Sent{}, provider.Permanent(fmt.Errorf("slack: %w", err))
	}
	got, err := s.client.Post(ctx, s.url+method, s.header, data)
	if err != nil {
		return provider.Sent{}, fmt.Errorf("slack: calling %s: %w", method, err)
	}
	return outcome(got)
}

// answer is what Slack says to a call.
type answer struct {
	OK    bool   `json:"ok"`
	Error string `json:"error"`
	Stamp string `json:"ts"`
}

// outcome says what an answer means for the message. A refusal comes with 200.
func outcome(got httpcall.Answer) (provider.Sent, error) {
	var a answer
	err := json.Unmarshal(got.Body, &a)
	switch {
	case got.Status == http.StatusTooManyRequests:
		return provider.Sent{}, provider.Retry(errors.New("slack: too many messages"), got.RetryAfter())
	case err == nil && got.Status == http.StatusOK && a.OK && a.Stamp != "":
		return provider.Sent{MessageID: a.Stamp}, nil
	case err == nil && got.Status == http.StatusOK && !a.OK && a.Error != "":
		return provider.Sent{}, refusal(a.Error, got)
	}
	err = fmt.Errorf("slack: %d %s, not from the Web API", got.Status, http.StatusText(got.Status))
	if got.Status >= 300 && got.Status < 500 {
		err = provider.RetryAll(fmt.Errorf("%w: the API address is wrong", err), httpcall.AccountDelay)
	}
	return provider.Sent{}, err // in doubt: a success that says nothing, or a call that was lost track of
}

// refusal says what an error of Slack's means.
func refusal(code string, got httpcall.Answer) error {
	err := fmt.Errorf("slack: %s", code)
	switch code {
	case "internal_error", "fatal_error": // part of the call may have succeeded
		return err
	case "ratelimited", "rate_limited", "service_unavailable", "request_timeout":
		return provider.Retry(err, got.RetryAfter())
	case "invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive", "missing_scope",
		"no_permission", "not_allowed_token_type", "access_denied", "ekm_access_denied", "org_login_required",
		"team_access_not_granted", "two_factor_setup_required", "team_added_to_org", "accesslimited", "method_deprecated":
		return provider.RetryAll(fmt.Errorf("%w: the app can not send until that is put right", err), httpcall.AccountDelay)
	case "invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long":
		return provider.Permanent(fmt.Errorf("%w: %w", err, errBlocks))
	}
	return provider.Permanent(err)
}
