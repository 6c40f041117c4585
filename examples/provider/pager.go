package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/httpcall"
)

// Pager is a platform that posts {"id", "chat", "text"} signed over the raw body
// and takes {"chat", "text"} of up to 100 bytes.
type Pager struct {
	secret, token, api string
	client             *httpcall.Client
}

var (
	_ provider.Receiver = (*Pager)(nil)
	_ provider.Sender   = (*Pager)(nil)
)

func (p *Pager) ID() string     { return "pager" }
func (p *Pager) MaxBody() int64 { return 64 << 10 }

// Verify comes before anything is read, and compares in constant time.
func (p *Pager) Verify(h http.Header, body []byte) error {
	mac := hmac.New(sha256.New, []byte(p.secret))
	mac.Write(body)
	if !hmac.Equal([]byte(h.Get("X-Pager-Signature")), []byte(hex.EncodeToString(mac.Sum(nil)))) {
		return errors.New("pager: the signature is missing or wrong")
	}
	return nil
}

// Parse refuses only what is no JSON. What can not be understood is an event: a
// refusal would be posted again and again.
func (p *Pager) Parse(_ http.Header, body []byte) ([]botmesh.Record, error) {
	var page struct{ ID, Chat, Text string }
	err := provider.DecodeJSON(body, &page)
	var misfit *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &misfit) {
		return nil, err
	}
	rec := botmesh.Record{
		Type: botmesh.TypeMessage, ID: page.ID, User: page.Chat, Raw: body,
		Chat:    botmesh.ChatKey{Provider: p.ID(), Chat: page.Chat},
		Message: botmesh.Message{Text: page.Text, MessageID: page.ID},
	}
	if page.ID == "" || len(page.ID) > 200 { // a repetition must have the same id
		sum := sha256.Sum256(body)
		rec.ID = hex.EncodeToString(sum[:])
	}
	if misfit != nil || page.Chat == "" || page.Chat == "-" || len(page.Chat) > 200 {
		rec.Type, rec.User, rec.Chat.Chat = botmesh.TypeEvent, "", "-"
	}
	return []botmesh.Record{rec}, nil
}

// Split is called once; the parts are kept.
func (p *Pager) Split(s botmesh.Send) []botmesh.Send {
	text := provider.Splitter{Unit: provider.Bytes, Max: 100}
	return provider.Parts(text.Split(provider.Numbered(s).Text), nil)
}

// Call is made once, and says what certainly was no delivery.
func (p *Pager) Call(ctx context.Context, c provider.Call) (provider.Sent, error) {
	if c.Chat.Chat == "-" {
		return provider.Sent{}, provider.Permanent(errors.New("pager: no chat"))
	}
	body, err := json.Marshal(map[string]string{"chat": c.Chat.Chat, "text": c.Send.Text})
	if err != nil {
		return provider.Sent{}, provider.Permanent(err)
	}
	got, err := p.client.Post(ctx, p.api+"/pages", http.Header{"Authorization": {"Bearer " + p.token}}, body)
	if err != nil {
		return provider.Sent{}, fmt.Errorf("pager: %w", err) // never left, or in doubt
	}
	err = fmt.Errorf("pager: %d", got.Status)
	switch {
	case got.Status == http.StatusOK:
		return provider.Sent{MessageID: string(got.Body)}, nil
	case got.Status == http.StatusTooManyRequests:
		return provider.Sent{}, provider.Retry(err, got.RetryAfter())
	case got.Status >= 400 && got.Status < 500:
		return provider.Sent{}, provider.Permanent(err)
	}
	return provider.Sent{}, err // it may have been taken
}
