package workerd

import (
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/telegram"
	"github.com/botmesh-go/botmesh/provider/webchat"
)

// senders are the platforms that the settings have a token for.
type senders struct {
	all     []provider.Sender
	inDoubt map[string]outbox.Policy
	close   func()
}

// policies are the words of the settings for [outbox.Policy].
var policies = map[string]outbox.Policy{"resend": outbox.Resend, "hold": outbox.Hold}

func newSenders(s config.Config) (senders, error) {
	out := senders{inDoubt: map[string]outbox.Policy{}, close: func() {}}
	if s.Telegram.Token.IsSet() {
		t, err := telegram.NewSender(telegram.SenderConfig{Token: s.Telegram.Token.Reveal(), API: s.Telegram.APIURL.Reveal()})
		if err != nil {
			return senders{}, err
		}
		out.all = append(out.all, t)
		out.inDoubt[t.ID()] = policies[s.Telegram.InDoubt]
		out.close = t.Close
	}
	if s.Webchat.Secret.IsSet() {
		w, err := webchat.NewSender(webchat.ID)
		if err != nil {
			return senders{}, err
		}
		out.all = append(out.all, w)
	}
	return out, nil
}

func (s senders) ids() []string {
	ids := make([]string, len(s.all))
	for i, sender := range s.all {
		ids[i] = sender.ID()
	}
	return ids
}
