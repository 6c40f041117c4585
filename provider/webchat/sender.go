package webchat

import (
	"context"
	"fmt"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// Sender delivers to the web chat, by doing nothing: a letter in the outbox is
// where the page reads it.
type Sender struct{ id string }

var (
	_ provider.Sender     = (*Sender)(nil)
	_ provider.Attacher   = (*Sender)(nil)
	_ provider.Styler     = (*Sender)(nil)
	_ provider.Idempotent = (*Sender)(nil)
)

// NewSender makes the sender of the web chat of that id, [ID] if it is empty.
func NewSender(id string) (*Sender, error) {
	if id == "" {
		id = ID
	}
	if !botmesh.ValidName(id) {
		return nil, fmt.Errorf("webchat: id %q does not match [a-z0-9-]{1,32}", id)
	}
	return &Sender{id: id}, nil
}

// ID is the provider's instance id.
func (s *Sender) ID() string { return s.id }

// Split leaves the send whole: a page has no limit.
func (s *Sender) Split(send botmesh.Send) []botmesh.Send { return []botmesh.Send{send} }

// Attaches implements [provider.Attacher]: the page shows images, and links to others.
func (s *Sender) Attaches(m botmesh.Media) bool { return m.URL != "" }

// Styles implements [provider.Styler]: the page shows all.
func (s *Sender) Styles(botmesh.Span) bool { return true }

// Call succeeds. The message's id is the part's.
func (s *Sender) Call(_ context.Context, c provider.Call) (provider.Sent, error) {
	return provider.Sent{MessageID: c.Part}, nil
}

// IdempotentCalls reports that a repeated call shows nothing twice.
func (s *Sender) IdempotentCalls() bool { return true }
