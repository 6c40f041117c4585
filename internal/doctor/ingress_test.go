package doctor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/ingress"
	"github.com/botmesh-go/botmesh/internal/doctor"
)

func TestIngresses(t *testing.T) {
	t.Parallel()
	p := healthy(t)
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	session := func(role ingress.Role, open bool, since time.Duration) doctor.Ingress {
		s := ingress.SessionStatus{Provider: "telegram", Role: role, Open: open, Closed: now.Add(-since)}
		if !open {
			s.Trouble = "the platform says no"
		}
		return doctor.Ingress{Replica: "in1", At: now, Sessions: []ingress.SessionStatus{s}}
	}
	for name, test := range map[string]struct {
		all   []doctor.Ingress
		err   error
		check string
		level doctor.Level
		words string
	}{
		"nobody":       {nil, nil, "ingresses", doctor.Broken, "no ingress answers: nothing is heard; the journal never had a record"},
		"not asked":    {nil, errors.New("no"), "ingresses", doctor.Unknown, "can not be looked at: no"},
		"two":          {[]doctor.Ingress{{Replica: "b"}, {Replica: "a"}}, nil, "ingresses", doctor.Fine, "2 are there: a, b"},
		"trouble":      {[]doctor.Ingress{{Replica: "a", Trouble: "full"}}, nil, "ingresses", doctor.Broken, "a stores nothing: full"},
		"open":         {[]doctor.Ingress{session(ingress.Leader, true, 0)}, nil, "ingresses", doctor.Fine, "1 is there: in1"},
		"closed":       {[]doctor.Ingress{session(ingress.Leader, false, time.Hour)}, nil, "sessions", doctor.Broken, "in1 holds the session of telegram (leader), which is closed since 2030-01-02T02:04:05Z: the platform says no"},
		"shared":       {[]doctor.Ingress{session(ingress.Shared, false, time.Hour)}, nil, "sessions", doctor.Broken, "telegram (shared)"},
		"closed a bit": {[]doctor.Ingress{session(ingress.Leader, false, time.Second)}, nil, "sessions", doctor.Warning, "closed since 2030-01-02T03:04:04Z"},
		"standby":      {[]doctor.Ingress{session(ingress.Standby, false, time.Hour)}, nil, "ingresses", doctor.Fine, "1 is there"},
	} {
		cfg := p.Config
		cfg.Ingresses = func(context.Context) ([]doctor.Ingress, error) { return test.all, test.err }
		found := doctor.Examine(t.Context(), cfg)
		finding(t, found, test.check, test.level, test.words)
		if got := doctor.Worst(found); got != test.level {
			t.Errorf("%s: got %q, want %q as the worst: %v", name, got, test.level, found)
		}
	}
	p.publish()
	p.Ingresses = func(context.Context) ([]doctor.Ingress, error) { return nil, nil }
	finding(t, doctor.Examine(t.Context(), p.Config), "ingresses", doctor.Broken, "the journal's newest entry is of 20")
}
