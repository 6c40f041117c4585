package whatsapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// typing is for how long WhatsApp shows that a business is at work, unless a message comes
// (https://developers.facebook.com/docs/whatsapp/cloud-api/typing-indicators).
const typing = 25 * time.Second

// reading has a message of the user shown as read, and that an answer to it is written.
type reading struct {
	Product   string `json:"messaging_product"`
	Status    string `json:"status"`
	MessageID string `json:"message_id"`
	Indicator struct {
		Type string `json:"type"`
	} `json:"typing_indicator"`
}

// Typing implements [provider.Typist]. WhatsApp shows the message as read with it, and
// nothing where no message is worked on.
func (s *Sender) Typing(ctx context.Context, chat botmesh.ChatKey, messageID string) (time.Duration, error) {
	to, err := parseAddress(chat.Chat)
	if err == nil && messageID == "" {
		err = errors.New("whatsapp: there is no message of the user to be typing an answer to")
	}
	if err != nil {
		return 0, provider.Permanent(err)
	}
	sign := reading{Product: "whatsapp", Status: "read", MessageID: messageID}
	sign.Indicator.Type = "text"
	data, err := json.Marshal(sign)
	if err != nil {
		return 0, provider.Permanent(fmt.Errorf("whatsapp: %w", err))
	}
	got, err := s.client.Post(ctx, s.messages(to), s.header, data)
	if err != nil {
		return 0, fmt.Errorf("whatsapp: typing: %w", err)
	}
	var a struct {
		Success bool `json:"success"`
	}
	if err := json.Unmarshal(got.Body, &a); err == nil && got.Status == http.StatusOK && a.Success {
		return typing, nil
	}
	_, err = outcome(got)
	return 0, err
}
