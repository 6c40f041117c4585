package workerd

import (
	"errors"

	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/slack"
	"github.com/botmesh-go/botmesh/provider/standardwebhooks"
	"github.com/botmesh-go/botmesh/provider/telegram"
	"github.com/botmesh-go/botmesh/provider/webchat"
	"github.com/botmesh-go/botmesh/provider/whatsapp"
)

// senders are the platforms that the settings have a token for.
type senders struct {
	all     []provider.Sender
	inDoubt map[string]outbox.Policy
	close   func()
}

// policies are the words of the settings for [outbox.Policy].
var policies = map[string]outbox.Policy{"resend": outbox.Resend, "hold": outbox.Hold}

// platform is a sender that holds connections open.
type platform interface {
	provider.Sender
	Close()
}

func newSenders(s config.Config) (senders, error) {
	var (
		open []platform
		errs []error
	)
	out := senders{inDoubt: map[string]outbox.Policy{}}
	add := func(p platform, inDoubt string, err error) {
		if err != nil {
			errs = append(errs, err)
			return
		}
		open = append(open, p)
		out.all = append(out.all, p)
		if inDoubt != "" {
			out.inDoubt[p.ID()] = policies[inDoubt]
		}
	}
	if t := s.Telegram; t.Token.IsSet() {
		p, err := telegram.NewSender(telegram.SenderConfig{Token: t.Token.Reveal(), API: t.APIURL.Reveal()})
		add(p, t.InDoubt, err)
	}
	if w := s.WhatsApp; w.AccessToken.IsSet() {
		p, err := whatsapp.NewSender(whatsapp.SenderConfig{AccessToken: w.AccessToken.Reveal(), PhoneNumberID: w.PhoneNumberID, API: w.APIURL.Reveal()})
		add(p, w.InDoubt, err)
	}
	if l := s.Slack; l.Token.IsSet() {
		p, err := slack.NewSender(slack.SenderConfig{Token: l.Token.Reveal(), API: l.APIURL.Reveal()})
		add(p, l.InDoubt, err)
	}
	if b := s.StandardWebhooks; b.SendSecret.IsSet() {
		p, err := standardwebhooks.NewSender(standardwebhooks.SenderConfig{
			Secret: b.SendSecret.Reveal(), API: b.APIURL.Reveal(), PrivateFiles: b.Files == "private",
		})
		add(p, "", err) // a repeated call is known: nothing is in doubt
	}
	if s.Webchat.Secret.IsSet() {
		w, err := webchat.NewSender(webchat.ID)
		out.all, errs = append(out.all, w), append(errs, err)
	}
	out.close = func() {
		for _, p := range open {
			p.Close()
		}
	}
	return out, errors.Join(errs...)
}

func (s senders) ids() []string {
	ids := make([]string, len(s.all))
	for i, sender := range s.all {
		ids[i] = sender.ID()
	}
	return ids
}
