package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh/ingress"
)

// blip is how long a session may be closed before something is wrong: it was lost, or its
// leader elected, just now.
const blip = 10 * time.Second

// Ingress is what an ingress says of itself.
type Ingress struct {
	Replica string `json:"replica"`
	// At is when this was so, by the clock of the ingress.
	At time.Time `json:"at"`
	// Trouble is what keeps messages from being stored, empty if nothing is known.
	Trouble  string                  `json:"trouble"`
	Sessions []ingress.SessionStatus `json:"sessions"`
}

// ingresses asks who is there to hear what users write. Who answers is a hint, and nothing
// but this goes by it.
func ingresses(ctx context.Context, cfg Config) (found []Finding) {
	const is = about("ingresses")
	all, err := cfg.Ingresses(ctx)
	if err != nil {
		return is.unknown(err)
	}
	if len(all) == 0 {
		return []Finding{is.broken("start one, or look for its BOTMESH_BOT and BOTMESH_NATS_URL; one of an older build does not answer, nor one whose NATS user may not (deploy/nats/secure/accounts.conf)",
			"no ingress answers: nothing is heard; %s", newest(ctx, cfg))}
	}
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = one.Replica
		found = append(found, one.judge()...)
	}
	slices.Sort(names)
	return append(found, is.fine("%s there: %s; %s", are(len(all)), strings.Join(names, ", "), newest(ctx, cfg)))
}

// judge finds what keeps an ingress from hearing.
func (i Ingress) judge() (found []Finding) {
	if i.Trouble != "" {
		found = append(found, about("ingresses").broken("its log and /readyz say more", "%s stores nothing: %s", i.Replica, i.Trouble))
	}
	const is = about("sessions")
	for _, s := range i.Sessions {
		if s.Role == ingress.Standby || s.Open {
			continue
		}
		do := "its log says more, and after BOTMESH_PROVIDER_DOWN another ingress tries, if one stands by"
		say := is.broken
		if i.At.Sub(s.Closed) < blip {
			say = is.warning
		}
		found = append(found, say(do, "%s holds the session of %s (%s), which is closed since %s: %s", i.Replica, s.Provider, s.Role, s.Closed.UTC().Format(time.RFC3339), s.Trouble))
	}
	return found
}

// newest says when the journal got its newest record.
func newest(ctx context.Context, cfg Config) string {
	stream, err := cfg.JetStream.Stream(ctx, cfg.Inbox)
	if err != nil {
		return "the journal can not be read"
	}
	state := stream.CachedInfo().State
	if state.LastSeq == 0 {
		return "the journal never had a record"
	}
	return fmt.Sprintf("the journal's newest entry is of %s", state.LastTime.UTC().Format(time.RFC3339))
}
