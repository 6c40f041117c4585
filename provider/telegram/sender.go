package telegram

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/httpcall"
)

// maxPayload is the longest payload of a button, in bytes.
const maxPayload = 64

// SenderConfig configures a [Sender].
type SenderConfig struct {
	// ID is the provider's instance id. Defaults to [ID].
	ID string
	// Token is the bot's token. Required. It is in the address of every call, and
	// in no error.
	Token string
	// API is the base address of the Bot API. Defaults to [DefaultAPI].
	API string
	// Transport makes the calls. Defaults to one of the sender's own, which keeps
	// up to 256 connections open between calls. A call lasts as long as its context.
	Transport http.RoundTripper
}

// Sender sends to Telegram. Telegram recognises no repeated call, so a call
// without an answer stays in doubt.
type Sender struct {
	id  string
	api api
}

var (
	_ provider.Sender  = (*Sender)(nil)
	_ provider.Opener  = (*Sender)(nil)
	_ provider.Limited = (*Sender)(nil)
	_ provider.Editor  = (*Sender)(nil)
	_ provider.Typist  = (*Sender)(nil)

	_ provider.Attacher = (*Sender)(nil)
	_ provider.Styler   = (*Sender)(nil)
)

// What Telegram asks of bots: no more than 30 messages a second, one a second in a
// chat but for short bursts, and 20 a minute in a group
// (https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this).
// A burst and the rate together stay within that.
var (
	accountRate = provider.Rate{Every: time.Second / 25, Burst: 5}
	chatRate    = provider.Rate{Every: time.Second, Burst: 5}
	groupRate   = provider.Rate{Every: 4 * time.Second, Burst: 5}
)

// Limits implements [provider.Limited].
func (s *Sender) Limits(chat botmesh.ChatKey) provider.Limits {
	l := provider.Limits{Chat: chatRate, Account: accountRate}
	if to, err := parseAddress(chat.Chat); err == nil {
		l.Address = strconv.FormatInt(to.chat, 10) // all topics of a group are one chat
		if to.chat < 0 {
			l.Chat = groupRate
		}
	}
	return l
}

// NewSender makes a Sender. The error names everything that is wrong with cfg,
// without the token.
func NewSender(cfg SenderConfig) (*Sender, error) {
	if cfg.ID == "" {
		cfg.ID = ID
	}
	api, err := newAPI(cfg.ID, cfg.Token, cfg.API, httpcall.Config{Transport: cfg.Transport})
	if err != nil {
		return nil, err
	}
	return &Sender{id: cfg.ID, api: api}, nil
}

// ID is the provider's instance id.
func (s *Sender) ID() string { return s.id }

// Close closes the idle connections of the sender's own transport.
func (s *Sender) Close() { s.api.client.Close() }

// Call sends one message. It is made once; only two answers that certainly are no
// delivery are followed by another call at once: that a group has become a supergroup,
// to the new chat, and that the styles of the text are refused, with the plain text.
//
// The error is made by [provider.Retry] for 429 (with Telegram's delay), when the
// call was never written, and when the token or the address is wrong (401, 404,
// any refusal that is not Telegram's): the message goes out once that is put
// right. It is made by [provider.Blocked] for 403, and by [provider.Permanent] for 400
// and what Telegram could not take anyhow. All else leaves open whether the message was sent: a lost
// answer, one that says nothing, and 5xx, which Telegram and the proxies before
// it also give when they lost track of a call they took.
func (s *Sender) Call(ctx context.Context, c provider.Call) (provider.Sent, error) {
	to, err := parseAddress(c.Chat.Chat)
	if err != nil {
		return provider.Sent{}, provider.Permanent(err)
	}
	keyboard, err := inlineKeyboard(c.Send.Buttons)
	if err != nil {
		return provider.Sent{}, provider.Permanent(err)
	}
	msg := outgoing{ChatID: to.chat, Topic: to.topic, Business: to.business, Markup: keyboard}
	method := msg.attach(c.Send.Media)
	a, err := s.say(ctx, method, msg, c.Send)
	if err == nil && a.Code == http.StatusBadRequest && a.Parameters.MigrateTo != 0 {
		msg.ChatID = a.Parameters.MigrateTo
		a, err = s.say(ctx, method, msg, c.Send)
	}
	if err != nil {
		return provider.Sent{}, err
	}
	return a.outcome()
}

// say makes a call with the text of a send. If Telegram refuses its styles, it is called
// again at once with the plain text: it certainly took nothing, so nothing comes twice.
func (s *Sender) say(ctx context.Context, method string, msg outgoing, send botmesh.Send) (answer, error) {
	msg.write(send)
	a, err := s.api.call(ctx, method, msg)
	if err == nil && len(send.Spans) > 0 && a.refusesStyles() {
		msg.write(unstyled(send))
		a, err = s.api.call(ctx, method, msg)
	}
	return a, err
}

// Edit implements [provider.Editor]. A group that has become a supergroup has other
// messages, so that is a refusal.
func (s *Sender) Edit(ctx context.Context, c provider.Call, messageID string) error {
	to, err := parseAddress(c.Chat.Chat)
	if err != nil {
		return provider.Permanent(err)
	}
	msg := outgoing{ChatID: to.chat, Business: to.business}
	if msg.Message, err = strconv.ParseInt(messageID, 10, 64); err != nil {
		return provider.Permanent(fmt.Errorf("telegram: message %q is not a message's number", messageID))
	}
	if msg.Markup, err = inlineKeyboard(c.Send.Buttons); err != nil {
		return provider.Permanent(err)
	}
	a, err := s.say(ctx, "editMessageText", msg, c.Send)
	if err != nil || a.unchanged() {
		return err
	}
	_, err = a.outcome()
	return err
}

// typing is for how long Telegram shows that a bot is at work, unless a message comes.
const typing = 5 * time.Second

// Typing implements [provider.Typist].
func (s *Sender) Typing(ctx context.Context, chat botmesh.ChatKey, _ string) (time.Duration, error) {
	to, err := parseAddress(chat.Chat)
	if err != nil {
		return 0, provider.Permanent(err)
	}
	a, err := s.api.call(ctx, "sendChatAction", outgoing{ChatID: to.chat, Topic: to.topic, Business: to.business, Action: "typing"})
	if err != nil || a.OK {
		return typing, err
	}
	_, err = a.outcome()
	return 0, err
}

// outgoing is a call of sendMessage, sendPhoto and the like, editMessageText or
// sendChatAction.
type outgoing struct {
	Business string   `json:"business_connection_id,omitempty"`
	ChatID   int64    `json:"chat_id"`
	Topic    int64    `json:"message_thread_id,omitempty"`
	Message  int64    `json:"message_id,omitempty"`
	Text     string   `json:"text,omitempty"`
	Entities []entity `json:"entities,omitempty"`
	Action   string   `json:"action,omitempty"`
	Markup   *markup  `json:"reply_markup,omitempty"`
	attachment
}

type markup struct {
	Keyboard [][]button `json:"inline_keyboard"`
}

type button struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// inlineKeyboard is nil if there are no buttons.
func inlineKeyboard(rows [][]botmesh.Button) (*markup, error) {
	var m markup
	for _, row := range rows {
		var out []button
		for _, b := range row {
			if b.Label == "" || b.Payload == "" || len(b.Payload) > maxPayload {
				return nil, fmt.Errorf("telegram: a button needs a label and a payload of 1 to %d bytes, got %d", maxPayload, len(b.Payload))
			}
			out = append(out, button{Text: b.Label, Data: b.Payload})
		}
		if out != nil {
			m.Keyboard = append(m.Keyboard, out)
		}
	}
	if m.Keyboard == nil {
		return nil, nil
	}
	return &m, nil
}
