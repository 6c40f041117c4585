package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
)

// The least lengths of secrets, in bytes.
const (
	minWebchatSecret = 16
	minAdminToken    = 16
)

// telegramSecret is what the platform takes for a webhook's secret.
var telegramSecret = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)

// check says everything that is wrong with the values, whoever uses them.
func (c Config) check() error {
	var p problems
	p.when(!botmesh.ValidName(c.Bot), "bot", "must match [a-z0-9-]{1,32}")
	p.when(c.Deploy < 0, "deploy", "must not be negative")
	p.when(c.Replicas < 0 || c.Replicas > 5, "replicas", "must be 0 to 5")
	p.when(c.Tries < 1, "tries", "must be at least 1")
	p.when(c.Concurrency < 1, "concurrency", "must be at least 1")
	p.when(c.MaxFileBytes < 1, "max_file_bytes", "must be at least 1")
	p.when(c.Spool.MaxBytes < 1, "spool_max_bytes", "must be at least 1")
	p.atLeast("lease", c.Lease, 500*time.Millisecond)
	p.atLeast("turn_wait", c.TurnWait, time.Second)
	p.atLeast("settle", c.Settle, time.Second)
	p.atLeast("max_poll", c.MaxPoll, 5*time.Millisecond)
	p.atLeast("retention", c.Retention, time.Minute)
	p.atLeast("duplicate_window", c.DuplicateWindow, 100*time.Millisecond)
	p.when(c.DuplicateWindow > c.Retention, "duplicate_window", "must not be longer than retention")
	p.atLeast("drain", c.Drain, 100*time.Millisecond)
	p.when(c.StaleAfter < 0, "stale_after", "must not be negative")
	p.atLeast("handover_ttl", c.Handover.TTL, time.Second)
	p.atLeast("provider_down", c.ProviderDown, time.Second)

	p.schemes("nats_url", c.NATS.URL, "nats", "tls", "ws", "wss")
	p.schemes("redis_url", c.Redis.URL, "redis", "rediss", "redis+cluster", "redis+sentinel", "rediss+cluster", "rediss+sentinel")
	p.schemes("telegram_api_url", c.Telegram.APIURL, "http", "https")
	p.schemes("whatsapp_api_url", c.WhatsApp.APIURL, "http", "https")
	p.schemes("slack_api_url", c.Slack.APIURL, "http", "https")
	if c.AdminURL.IsSet() {
		p.schemes("admin_url", c.AdminURL, "http", "https")
	}
	if c.StandardWebhooks.APIURL.IsSet() {
		p.schemes("standardwebhooks_api_url", c.StandardWebhooks.APIURL, "http", "https")
	}
	p.store(c.Store)
	p.tls(c)
	p.address("listen", c.Listen)
	p.address("admin_listen", c.AdminListen)
	t := c.Telegram.Secret
	p.when(t.IsSet() && !telegramSecret.MatchString(t.Reveal()), "telegram_secret", "must be 1 to 256 letters, digits, _ or -")
	p.when(c.AdminToken.IsSet() && len(c.AdminToken.Reveal()) < minAdminToken, "admin_token", fmt.Sprintf("must have at least %d characters", minAdminToken))
	s := c.Webchat.Secret
	p.when(s.IsSet() && len(s.Reveal()) < minWebchatSecret, "webchat_secret", fmt.Sprintf("must have at least %d characters", minWebchatSecret))
	return errors.Join(p...)
}

// none reports whether none of the secrets is set.
func none(secrets ...Secret) bool {
	return !slices.ContainsFunc(secrets, Secret.IsSet)
}

// CheckReceivers says what the ingress's part of the providers that are set misses.
func (c Config) CheckReceivers() error {
	var p problems
	p.when(c.WhatsApp.VerifyToken.IsSet() && !c.WhatsApp.AppSecret.IsSet(), "whatsapp_app_secret", "is not set, and is what WhatsApp's webhooks are signed with")
	p.when(c.Telegram.Polls() && !c.Telegram.Token.IsSet(), "telegram_token", "is not set, and is what an ingress polls with")
	return errors.Join(p...)
}

// CheckIngress says what an ingress misses that has no providers of its own.
func (c Config) CheckIngress() error {
	var p problems
	p.when(!c.Telegram.Polls() && none(c.Telegram.Secret, c.WhatsApp.AppSecret, c.Slack.SigningSecret, c.StandardWebhooks.Secret, c.Webchat.Secret),
		"telegram_secret", "is not set: an ingress needs the secret of at least one provider (or of the web chat, BOTMESH_WEBCHAT_SECRET)")
	return errors.Join(c.CheckReceivers(), errors.Join(p...))
}

// CheckSenders says what the worker's part of the providers that are set misses.
func (c Config) CheckSenders() error {
	w, b := c.WhatsApp, c.StandardWebhooks
	var p problems
	p.when(w.AccessToken.IsSet() && w.PhoneNumberID == "", "whatsapp_phone_number_id", "is not set, and is the number to send from")
	p.when(b.SendSecret.IsSet() && !b.APIURL.IsSet(), "standardwebhooks_api_url", "is not set, and is where messages are posted to")
	p.when(b.APIURL.IsSet() && !b.SendSecret.IsSet(), "standardwebhooks_send_secret", "is not set, and is what messages are signed with")
	return errors.Join(p...)
}

// CheckWorker says what a worker misses that has no providers of its own.
func (c Config) CheckWorker() error {
	var p problems
	p.when(none(c.Telegram.Token, c.WhatsApp.AccessToken, c.Slack.Token, c.StandardWebhooks.SendSecret, c.Webchat.Secret),
		"telegram_token", "is not set: a worker needs the token of at least one provider (or the web chat, BOTMESH_WEBCHAT_SECRET)")
	return errors.Join(c.CheckSenders(), errors.Join(p...))
}

type problems []error

func (p *problems) when(wrong bool, key, what string) {
	if wrong {
		*p = append(*p, fmt.Errorf("%s %s", EnvName(key), what))
	}
}

func (p *problems) atLeast(key string, d, least time.Duration) {
	p.when(d < least, key, "must be at least "+least.String())
}

// schemes checks an address, or several parted by commas, without showing it: it
// may hold a password.
func (p *problems) schemes(key string, u URL, allowed ...string) {
	for i, one := range strings.Split(u.Reveal(), ",") {
		scheme, rest, ok := strings.Cut(one, "://")
		if !ok && i > 0 {
			rest = one // further hosts need no scheme
		} else if !ok || !slices.Contains(allowed, scheme) {
			p.when(true, key, "must begin with "+strings.Join(allowed, ":// or ")+"://")
			return
		}
		if _, err := url.Parse("any://" + rest); err != nil || rest == "" || rest[0] == '/' {
			p.when(true, key, "is not an address such as "+allowed[0]+"://host:port")
			return
		}
	}
}

// tls checks what belongs together.
func (p *problems) tls(c Config) {
	for key, pair := range map[string][2]string{
		"nats": {c.NATS.Cert, c.NATS.Key}, "redis": {c.Redis.Cert, c.Redis.Key},
		"tls": {c.TLS.Cert, c.TLS.Key}, "admin_tls": {c.AdminTLS.Cert, c.AdminTLS.Key},
	} {
		p.when(pair[0] != "" && pair[1] == "", key+"_key", "is not set, and is the key of "+EnvName(key+"_cert"))
		p.when(pair[0] == "" && pair[1] != "", key+"_cert", "is not set, and is the certificate of "+EnvName(key+"_key"))
	}
	r := c.Redis
	p.when(r.CA+r.Cert != "" && !strings.HasPrefix(r.URL.Reveal(), "rediss"), "redis_url", "must begin with rediss where "+EnvName("redis_ca")+" or "+EnvName("redis_cert")+" is set")
	n := c.NATS
	p.when(n.Password.IsSet() && n.User == "", "nats_user", "is not set, and is whose password "+EnvName("nats_password")+" is")
	p.when(n.User != "" && n.Creds != "", "nats_user", "and "+EnvName("nats_creds")+" are both set: leave one out")
}

func (p *problems) store(u URL) {
	if u.Reveal() == "nats" {
		return
	}
	scheme, _, _ := strings.Cut(u.Reveal(), ":")
	for _, later := range []string{"redis", "rediss", "postgres", "mysql", "mongodb", "sqlite"} {
		if scheme == later {
			p.when(true, "store", "is "+later+", which is not built in yet: leave it at nats")
			return
		}
	}
	p.when(true, "store", "must be nats")
}

func (p *problems) address(key, addr string) {
	if addr == "" {
		return
	}
	_, _, err := net.SplitHostPort(addr)
	p.when(err != nil, key, "must be host:port, such as 127.0.0.1:8080")
}
