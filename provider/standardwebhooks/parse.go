package standardwebhooks

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

const (
	// nowhere is the chat of what is in no chat.
	nowhere = "-"
	// maxID is the longest id of a record, a user or a conversation, in bytes.
	maxID = 200
)

// webhook is what a backend posts.
type webhook struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Data      struct {
		Conversation string          `json:"conversation"`
		Participant  string          `json:"participant"`
		User         string          `json:"user"`
		UserName     string          `json:"user_name"`
		Locale       string          `json:"locale"`
		ID           string          `json:"id"`
		Of           string          `json:"of"`
		ReplyTo      string          `json:"reply_to"`
		Text         string          `json:"text"`
		Payload      string          `json:"payload"`
		Status       string          `json:"status"`
		Category     string          `json:"category"`
		Media        []botmesh.Media `json:"media"`
	} `json:"data"`
}

// Parse turns a webhook into its record, whose id is the webhook's; of a message that
// failed there is another, for its chat. What is of no known type, names no conversation
// or has not the form of the package's comment is an event.
func (r *Receiver) Parse(h http.Header, body []byte) ([]botmesh.Record, error) {
	var w webhook
	err := provider.DecodeJSON(body, &w)
	var misfit *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &misfit) {
		return nil, err
	}
	rec := botmesh.Record{
		ID:     recordID(h.Get(IDHeader), body),
		Chat:   botmesh.ChatKey{Provider: r.id, Chat: w.Data.Conversation, Participant: w.Data.Participant},
		User:   cmp.Or(w.Data.User, w.Data.Participant),
		SentAt: moment(w.Timestamp),
		Raw:    body,
	}
	rec.Type, rec.Message = w.content()
	if misfit != nil {
		rec.Type = botmesh.TypeEvent
	}
	if len(rec.User) > maxID || len(rec.Chat.Chat) > maxID || len(rec.Chat.Participant) > maxID {
		rec.User, rec.Chat.Chat = "", ""
	}
	if rec.Chat.Chat == "" || rec.Chat.Chat == nowhere {
		rec.Chat = botmesh.ChatKey{Provider: r.id, Chat: nowhere}
		rec.Type = botmesh.TypeEvent
	}
	recs := []botmesh.Record{rec}
	if rec.Type == botmesh.TypeStatus && rec.Message.Status == "failed" {
		if told, ok := provider.Undelivered(rec, rec.Message.Of, "", rec.Message.Text, false); ok {
			recs = append(recs, told)
		}
	}
	return recs, nil
}

// content says what the webhook tells.
func (w *webhook) content() (botmesh.RecordType, botmesh.Message) {
	d := &w.Data
	m := botmesh.Message{UserName: d.UserName, Locale: d.Locale}
	switch w.Type {
	case "message.created":
		m.Text, m.MessageID, m.ReplyTo, m.Media = d.Text, d.ID, d.ReplyTo, d.Media
		m.Unsupported = m.Text == "" && len(m.Media) == 0
		return botmesh.TypeMessage, m
	case "message.updated":
		m.Text, m.Of = d.Text, d.ID
		return botmesh.TypeEdit, m
	case "message.deleted":
		m.Of = d.ID
		return botmesh.TypeDelete, m
	case "message.status":
		m.Status, m.Of, m.Text = d.Status, d.Of, d.Text
		return botmesh.TypeStatus, m
	case "button.pressed":
		m.Payload, m.Of, m.Text = d.Payload, d.Of, d.Text
		return botmesh.TypeCallback, m
	case "reaction.created":
		m.Text, m.Of = d.Text, d.Of
		return botmesh.TypeReaction, m
	case "user.opted_out":
		m.Status = d.Category
		return botmesh.TypeOptOut, m
	case "user.opted_in":
		m.Status = d.Category
		return botmesh.TypeOptIn, m
	}
	return botmesh.TypeEvent, m
}

// recordID is the webhook's id, or one made of it or of the body if that can not
// serve: a repetition has the same.
func recordID(id string, body []byte) string {
	switch {
	case id == "":
		return hash(body)
	case len(id) > maxID:
		return hash([]byte(id))
	}
	return id
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return "h" + hex.EncodeToString(sum[:16])
}

func moment(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Year() < 1970 || t.Year() > 9998 {
		return time.Time{} // no time that can be kept
	}
	return t.UTC()
}
