package whatsapp

import (
	"cmp"
	"crypto/sha256"
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

const (
	// maxItems bounds the records of one webhook. The platform sends up to 1000.
	maxItems = 2000
	// maxID is the longest id of a record or a user, in bytes.
	maxID = 200
	// maxMessage bounds what a record says, in bytes, so that one too large for the
	// journal spoils no other.
	maxMessage = 256 << 10
	// business is the object of the webhooks that are for a business account.
	business = "whatsapp_business_account"
	// nowhere is the chat of what is in no chat.
	nowhere = "-"
)

// Parse turns a webhook into records: one for each message, each status and each opt-out
// or opt-in, of whatever account and number, in the webhook's order. A change of any other kind,
// an item that has not the form of one and what the business itself wrote in the
// Business app are events.
func (r *Receiver) Parse(_ http.Header, body []byte) ([]botmesh.Record, error) {
	var w webhook
	err := provider.DecodeJSON(body, &w)
	var misfit *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &misfit) {
		return nil, err
	}
	b := batch{receiver: r, seen: map[string]bool{}}
	if misfit != nil || w.Object != business {
		b.event("", body, body)
		return b.records, nil
	}
	for _, raw := range w.Entry {
		b.entry(raw)
	}
	if len(b.records) > maxItems {
		return nil, fmt.Errorf("whatsapp: over %d items in one body", maxItems)
	}
	return b.records, nil
}

// batch collects the records of one webhook.
type batch struct {
	receiver *Receiver
	records  []botmesh.Record
	seen     map[string]bool
}

// add keeps rec, unless it is there already: a webhook may hold an item twice.
func (b *batch) add(rec botmesh.Record, raw json.RawMessage) {
	if len(rec.ID) > maxID {
		rec.ID = hash([]byte(rec.ID))
	}
	if len(rec.User) > maxID || len(rec.Chat.Chat) > 2*maxID || len(rec.Chat.Participant) > maxID {
		rec.User, rec.Chat = "", botmesh.ChatKey{} // no id that the platform gives
	}
	if m, err := json.Marshal(rec.Message); err != nil || len(m) > maxMessage {
		rec.Type, rec.Message = botmesh.TypeEvent, botmesh.Message{}
	}
	if b.seen[rec.ID] || len(b.records) > maxItems {
		return
	}
	b.seen[rec.ID] = true
	rec.Chat.Provider = b.receiver.id
	if rec.Chat.Chat == "" {
		rec.Chat = botmesh.ChatKey{Provider: b.receiver.id, Chat: nowhere}
		rec.Type = botmesh.TypeEvent
	}
	rec.Raw = raw
	b.records = append(b.records, rec)
}

// event keeps what has no chat. A repetition has the same identity.
func (b *batch) event(number string, identity, raw []byte) {
	b.add(botmesh.Record{Type: botmesh.TypeEvent, ID: number + "/" + hash(identity)}, raw)
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return "h" + hex.EncodeToString(sum[:16])
}

func (b *batch) entry(raw json.RawMessage) {
	var e entry
	if json.Unmarshal(raw, &e) != nil {
		b.event("", raw, raw)
		return
	}
	for _, c := range e.Changes {
		b.change(e, c)
	}
}

func (b *batch) change(e entry, raw json.RawMessage) {
	var c change
	err := json.Unmarshal(raw, &c)
	v := c.Value
	number := v.Metadata.Number
	known := c.Field == "messages" || c.Field == "smb_message_echoes" || c.Field == "user_preferences"
	if err != nil || !known || len(v.Errors) > 0 {
		// The entry's time tells two changes of the same words apart.
		b.event(number, append(append([]byte(e.ID), e.Time...), raw...), raw)
	}
	people := readContacts(v.Contacts)
	for _, item := range v.Messages {
		b.message(number, people, item)
	}
	for _, item := range v.Statuses {
		b.status(number, item)
	}
	for _, item := range v.Echoes {
		b.echo(number, item)
	}
	for _, item := range v.Choices {
		b.choice(number, people, item)
	}
}

// readContacts lists those of the contacts that can be read.
func readContacts(items []json.RawMessage) []contact {
	var people []contact
	for _, item := range items {
		var c contact
		if json.Unmarshal(item, &c) == nil {
			people = append(people, c)
		}
	}
	return people
}

// who is the author of m. The platform tells the user id with the message or with
// the contact of that phone number, or not at all.
func who(m *message, people []contact) (user, name string) {
	user = cmp.Or(m.FromUser, m.From)
	for _, c := range people {
		if m.FromUser != "" && c.User == m.FromUser || m.From != "" && c.Phone == m.From {
			return cmp.Or(m.FromUser, c.User, m.From), c.Profile.Name
		}
	}
	return user, ""
}

// key is the chat of a business number with a user, or a group of which he is.
func (b *batch) key(number, user, group string) botmesh.ChatKey {
	a := address{to: user}
	if own := b.receiver.number; own != "" && number != own {
		a.number = number
	}
	if group == "" && user == "" {
		return botmesh.ChatKey{}
	}
	if group == "" {
		return botmesh.ChatKey{Chat: a.String()}
	}
	a.to, a.group = group, true
	return botmesh.ChatKey{Chat: a.String(), Participant: user}
}

func (b *batch) message(number string, people []contact, raw json.RawMessage) {
	var m message
	err := json.Unmarshal(raw, &m)
	if m.ID == "" {
		b.event(number, raw, raw)
		return
	}
	user, name := who(&m, people)
	rec := botmesh.Record{ID: number + "/" + m.ID, Chat: b.key(number, user, m.Group), User: user, SentAt: moment(m.Timestamp)}
	if rec.Type, rec.Message = m.content(); err != nil {
		rec.Type = botmesh.TypeEvent
	}
	rec.Message.MessageID, rec.Message.ReplyTo, rec.Message.UserName = m.ID, m.Context.ID, name
	if rec.Type == botmesh.TypeCallback { // the context is the message whose button it was
		rec.Message.Of, rec.Message.ReplyTo = m.Context.ID, ""
	}
	b.add(rec, raw)
}

// status is one of the business's messages that was sent, delivered, read or not
// taken. They come in any order, and also before the call that sent the message
// was answered.
func (b *batch) status(number string, raw json.RawMessage) {
	var s status
	if err := json.Unmarshal(raw, &s); err != nil || s.ID == "" || s.Status == "" {
		b.event(number, raw, raw)
		return
	}
	rec := botmesh.Record{
		Type:    botmesh.TypeStatus,
		ID:      number + "/" + s.ID + "/" + s.Status,
		SentAt:  moment(s.Timestamp),
		Message: botmesh.Message{Of: s.ID, Status: s.Status, Part: s.Opaque},
	}
	var code int
	if len(s.Errors) > 0 {
		code = s.Errors[0].Code
		rec.Message.Text = fmt.Sprintf("%d %s", code, s.Errors[0].Title)
	}
	if s.RecipientType == "group" {
		rec.User = cmp.Or(s.ParticipantUser, s.Participant)
		rec.Chat = b.key(number, "", s.Recipient)
		rec.ID += "/" + rec.User
	} else {
		rec.User = cmp.Or(s.RecipientUser, s.Recipient)
		rec.Chat = b.key(number, rec.User, "")
	}
	b.add(rec, raw)
	if s.Status != "failed" || s.RecipientType == "group" {
		return // one of a group that did not get it is no failure of the message
	}
	rec.Chat.Provider = b.receiver.id
	if told, ok := provider.Undelivered(rec, s.Opaque, s.ID, rec.Message.Text, blocks(code)); ok {
		b.add(told, raw)
	}
}

// echo is what the business's owner wrote in the Business app: an event of the
// chat, since nobody spoke to the bot.
func (b *batch) echo(number string, raw json.RawMessage) {
	var m message
	if err := json.Unmarshal(raw, &m); err != nil || m.ID == "" {
		b.event(number, raw, raw)
		return
	}
	_, content := m.content()
	content.MessageID = m.ID
	b.add(botmesh.Record{
		Type:    botmesh.TypeEvent,
		ID:      number + "/" + m.ID,
		Chat:    b.key(number, cmp.Or(m.ToUser, m.To), m.Group),
		SentAt:  moment(m.Timestamp),
		Message: content,
	}, raw)
}

// choice is what a user wants no more of, or again. It has no id: its time tells it from
// the same choice at another time.
func (b *batch) choice(number string, people []contact, raw json.RawMessage) {
	var c choice
	err := json.Unmarshal(raw, &c)
	user, name := who(&message{From: c.Phone, FromUser: c.User}, people)
	rec := botmesh.Record{
		Type: botmesh.TypeEvent, ID: number + "/" + hash(raw), Chat: b.key(number, user, ""), User: user,
		SentAt: moment(c.Timestamp.String()), Message: botmesh.Message{Status: c.Category, UserName: name},
	}
	switch {
	case err != nil:
	case c.Value == "stop":
		rec.Type = botmesh.TypeOptOut
	case c.Value == "resume":
		rec.Type = botmesh.TypeOptIn
	}
	b.add(rec, raw)
}

// lastSecond is the last second of the year 9999. No platform's time is beyond it.
const lastSecond = 253402300799

func moment(seconds string) time.Time {
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n <= 0 || n > lastSecond {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}
