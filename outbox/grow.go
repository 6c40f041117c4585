package outbox

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// maxGrowing bounds the messages of a record that can still be replaced, which stand in
// every entry. What is to replace another is a message of its own.
const maxGrowing = 32

// growing are the messages that a letter after p may replace, once p has receipt r: those
// of p's record, until the letter of its commit is settled.
func (p part) growing(r botmesh.Receipt) map[string]string {
	eager := isEager(p.letter.ID)
	grown := eager && p.of().Send.Grows && r.Result == botmesh.ResultDelivered && r.ProviderID != ""
	switch {
	case p.last() && !eager, len(p.Growing) == 0 && !grown:
		return nil
	case !grown:
		return p.Growing
	}
	record, _, _ := cutLast(p.letter.ID, "/e")
	all := maps.Clone(p.Growing)
	maps.DeleteFunc(all, func(part, _ string) bool { return !strings.HasPrefix(part, record+"/e") })
	if all == nil {
		all = map[string]string{}
	}
	if len(all) < maxGrowing {
		all[p.of().ID] = r.ProviderID
	}
	return all
}

// errSaidAnew says that a part may have been said anew, since its message can not be
// changed, and is to be held.
var errSaidAnew = errors.New("outbox: the message can not be edited, and may have been sent anew")

// edits is the platform's id of the message that p is to change, empty if there is none
// that the platform can change.
func (o *Outbox) edits(p part) string {
	if _, ok := o.senders[p.letter.Chat.Provider].(provider.Editor); !ok {
		return ""
	}
	return cmp.Or(p.of().Send.Edits, p.Growing[p.letter.Replaced(p.of())])
}

// show has the platform show p: as an edit, if p replaces a message that the platform took
// and can change, or edits one. A crash after an edit repeats it, which nobody sees. What the platform
// can change no more is said anew, unless it is in doubt and to be held. An error of an edit
// comes with the message's id.
func (o *Outbox) show(ctx context.Context, p part) (provider.Sent, error) {
	s := o.senders[p.letter.Chat.Provider]
	call := provider.Call{Part: p.of().ID, Chat: p.letter.Chat, Send: p.of().Send}
	if id := o.edits(p); id != "" {
		err := s.(provider.Editor).Edit(ctx, call, id)
		if !provider.IsPermanent(err) || provider.IsBlocked(err) {
			return provider.Sent{MessageID: id}, err
		}
		if p.Doubt > 0 && o.holds(call.Chat.Provider) {
			return provider.Sent{}, errSaidAnew
		}
	}
	return s.Call(ctx, call)
}
