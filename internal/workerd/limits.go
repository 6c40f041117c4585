package workerd

import (
	"log/slog"

	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/outbox/ratelimit"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/slack"
	"github.com/botmesh-go/botmesh/provider/standardwebhooks"
	"github.com/botmesh-go/botmesh/provider/telegram"
	"github.com/botmesh-go/botmesh/provider/whatsapp"
)

// Limits are the limits that the settings set.
func Limits(s config.Config) ratelimit.Config {
	return ratelimit.Config{
		All: provider.Rate{Every: s.SendRate.Every, Burst: s.SendRate.Burst},
		Override: map[string]ratelimit.Override{
			telegram.ID:         {Chat: rate(s.Telegram.ChatRate), Account: rate(s.Telegram.AccountRate)},
			whatsapp.ID:         {Chat: rate(s.WhatsApp.ChatRate), Account: rate(s.WhatsApp.AccountRate)},
			slack.ID:            {Chat: rate(s.Slack.ChatRate), Account: rate(s.Slack.AccountRate)},
			standardwebhooks.ID: {Chat: rate(s.StandardWebhooks.ChatRate), Account: rate(s.StandardWebhooks.AccountRate)},
		},
	}
}

// rate is nil if nothing was set.
func rate(r config.Rate) *provider.Rate {
	if !r.IsSet() {
		return nil
	}
	return &provider.Rate{Every: r.Every, Burst: r.Burst}
}

// newLimiter keeps limits for the fleet, if Redis coordinates it, else for this
// worker.
func newLimiter(s config.Config, c engine.Coordination, log *slog.Logger) (outbox.Limiter, error) {
	if client, ok := engine.RedisOf(c); ok {
		return ratelimit.NewShared(ratelimit.SharedConfig{Config: Limits(s), Client: client, Prefix: s.Prefix, Logger: log})
	}
	return ratelimit.NewLocal(Limits(s))
}
