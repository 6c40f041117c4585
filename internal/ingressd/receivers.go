package ingressd

import (
	"errors"

	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/slack"
	"github.com/botmesh-go/botmesh/provider/standardwebhooks"
	"github.com/botmesh-go/botmesh/provider/telegram"
	"github.com/botmesh-go/botmesh/provider/whatsapp"
)

// receivers are the platforms that the settings have a secret for.
func receivers(s config.Config) ([]provider.Receiver, error) {
	var (
		all  []provider.Receiver
		errs []error
	)
	add := func(r provider.Receiver, err error) {
		all, errs = append(all, r), append(errs, err)
	}
	if s.Telegram.Secret.IsSet() && !s.Telegram.Polls() {
		add(telegram.NewReceiver(telegram.ReceiverConfig{Secret: s.Telegram.Secret.Reveal()}))
	}
	if w := s.WhatsApp; w.AppSecret.IsSet() {
		add(whatsapp.NewReceiver(whatsapp.ReceiverConfig{
			AppSecret: w.AppSecret.Reveal(), VerifyToken: w.VerifyToken.Reveal(), PhoneNumberID: w.PhoneNumberID,
		}))
	}
	if s.Slack.SigningSecret.IsSet() {
		add(slack.NewReceiver(slack.ReceiverConfig{SigningSecret: s.Slack.SigningSecret.Reveal()}))
	}
	if s.StandardWebhooks.Secret.IsSet() {
		add(standardwebhooks.NewReceiver(standardwebhooks.ReceiverConfig{Secret: s.StandardWebhooks.Secret.Reveal()}))
	}
	return all, errors.Join(errs...)
}
