package ingressd

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/ingress"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/telegram"
)

// leaveTime bounds how long leaderships that are left are given up.
const leaveTime = 2 * time.Second

// session is a provider's session that holds connections open.
type session interface {
	provider.Session
	Close()
}

// sessions are what the settings have this replica fetch. The zero value is nothing.
type sessions struct {
	all          []session
	holders      []*ingress.Holder
	coordination engine.Coordination // nil if nobody is elected
	coordinator  coord.Coordinator   // nil if nobody is elected
}

// fetched are the platforms that are asked for messages.
func fetched(s config.Config) ([]session, error) {
	if !s.Telegram.Polls() {
		return nil, nil
	}
	p, err := telegram.NewPoller(telegram.PollerConfig{Token: s.Telegram.Token.Reveal(), API: s.Telegram.APIURL.Reveal()})
	if err != nil {
		return nil, err
	}
	return []session{p}, nil
}

// led says whether a session runs on its elected leader alone.
func led(s config.Config, one provider.Session) bool {
	return s.ProviderSession == "leader" || s.ProviderSession == "auto" && one.Exclusive()
}

// openSessions makes the holders of the sessions, and connects to what elects if
// one of them is led. What is wrong with the settings is marked as such.
func openSessions(ctx context.Context, cfg Config, j ingress.Journal) (out sessions, err error) {
	s, log := cfg.Settings, cfg.Log
	if out.all, err = fetched(s); err != nil {
		return sessions{}, config.Wrong(err)
	}
	defer func() {
		if err != nil {
			out.close(ctx, cfg)
		}
	}()
	for _, one := range out.all {
		var elector coord.Elector
		if led(s, one) {
			if elector, err = out.elector(ctx, cfg); err != nil {
				return out, err
			}
		} else if one.Exclusive() {
			log.Warn("an exclusive session runs on every ingress: have one only", "provider", one.ID(), "setting", config.EnvName("provider_session"))
		}
		h, err := ingress.NewHolder(ingress.HolderConfig{
			Session: one, Journal: j, Elector: elector, Down: s.ProviderDown, Retake: s.Lease, OnRole: cfg.OnRole, Logger: log,
		})
		if err != nil {
			return out, config.Wrong(err)
		}
		out.holders = append(out.holders, h)
	}
	return out, nil
}

// elector is the one for all sessions of this replica, made when it is first needed.
func (o *sessions) elector(ctx context.Context, cfg Config) (coord.Elector, error) {
	if o.coordinator == nil {
		var err error
		if o.coordination = cfg.Coordination; o.coordination == nil {
			s := cfg.Settings
			s.Redis.Down = "wait" // a leader is only who can be found out to be one
			if o.coordination, err = engine.DialRedis(ctx, s, cfg.Log); err != nil {
				return nil, err
			}
		}
		if o.coordinator, err = o.coordination.New(); err != nil {
			return nil, config.Wrong(err)
		}
	}
	elector, ok := o.coordinator.(coord.Elector)
	if !ok {
		return nil, errors.New("ingressd: the coordinator elects nobody")
	}
	return elector, nil
}

// close ends what is left, so that others need not wait for a lease to run out.
func (o *sessions) close(ctx context.Context, cfg Config) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	if o.coordinator != nil {
		if err := o.coordinator.Close(ctx); err != nil {
			cfg.Log.Warn("the coordinator was not closed in order", "err", err)
		}
	}
	if o.coordination != nil {
		if err := o.coordination.Close(); err != nil {
			cfg.Log.Warn("the coordination was not closed in order", "err", err)
		}
	}
	for _, one := range o.all {
		one.Close()
	}
}

// ready says which session receives nothing though this replica holds it.
func (o *sessions) ready() error {
	var errs []error
	for _, h := range o.holders {
		errs = append(errs, h.Ready())
	}
	return errors.Join(errs...)
}

// note says what this replica is to each session.
func (o *sessions) note() string {
	var lines []string
	for _, h := range o.holders {
		lines = append(lines, h.Status().String())
	}
	return strings.Join(lines, "\n")
}

// status is what is known of each session.
func (o *sessions) status() []ingress.SessionStatus {
	var all []ingress.SessionStatus
	for _, h := range o.holders {
		all = append(all, h.Status())
	}
	return all
}
