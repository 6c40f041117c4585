package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/fleet"
	"github.com/botmesh-go/botmesh/e2e/platform"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

// polled is a scene whose ingress ask the platform.
type polled struct {
	*scene
	api     *telegramtest.Server
	offered map[string]int // by chat
}

// polling starts two ingress that poll, and two workers.
func polling(t *testing.T, env map[string]string) *polled {
	t.Helper()
	api := telegramtest.New(token)
	p, err := platform.Start(platform.Config{API: api, Token: token, Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	f, err := fleet.New(fleet.Config{Programs: programs, Platform: p, Dir: t.ArtifactDir(), Ingress: 2, Workers: 2, Polling: true, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(f.Logs())
		}
		f.Stop()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &polled{scene: &scene{Fleet: f, Platform: p, t: t}, api: api, offered: map[string]int{}}
	if err := s.Start(s.within(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return s
}

// offer has users write, n times in each of some chats.
func (s *polled) offer(n int) {
	const chats = 16
	for range n {
		for chat := int64(1); chat <= chats; chat++ {
			u := s.Message(chat, "/count")
			s.api.Offer(u.ID, u.Body)
			s.offered[strconv.FormatInt(chat, 10)]++
		}
	}
}

// settled waits until all that was offered is confirmed, and judges the replies.
func (s *polled) settled() {
	s.t.Helper()
	all, want := 0, map[string][]string{}
	for chat, n := range s.offered {
		all += n
		want[chat] = check.Counts(n)
	}
	s.eventually(time.Minute, "all is confirmed", func(context.Context) error {
		if got := len(s.api.Confirmed()); got != all {
			return fmt.Errorf("%d of %d are", got, all)
		}
		return nil
	})
	s.verify(want)
	if got := s.stored(inbox); got != uint64(all) {
		s.t.Errorf("got %d records, want the %d that were offered", got, all)
	}
}

// session is what an ingress says of its session.
func session(ctx context.Context, r *fleet.Replica) (fleet.Session, error) {
	st, err := r.Status(ctx)
	if err != nil {
		return fleet.Session{}, err
	}
	if len(st.Sessions) != 1 {
		return fleet.Session{}, fmt.Errorf("%s has %d sessions", r.Name, len(st.Sessions))
	}
	return st.Sessions[0], nil
}

// leader waits until one ingress of some leads and receives.
func (s *polled) leader(within time.Duration, of ...*fleet.Replica) (leader *fleet.Replica, fence uint64) {
	s.t.Helper()
	s.eventually(within, "one leads", func(ctx context.Context) error {
		for _, r := range of {
			if got, err := session(ctx, r); err == nil && got.Role == "leader" && got.Open {
				leader, fence = r, got.Fence
				return nil
			}
		}
		return errors.New("none does")
	})
	return leader, fence
}

// other is the ingress that is not r.
func (s *polled) other(r *fleet.Replica) *fleet.Replica {
	return s.Ingress[1-slices.Index(s.Ingress, r)]
}

// The leader is killed in the midst of what it stores; it comes back, and the next one
// is asked to end. What it had not confirmed comes again, to the next one.
//
// SPEC: L1 L3 J1 J2
func TestAPollerThatIsKilledOrStoppedLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	s := polling(t, nil)
	first, fence := s.leader(20*time.Second, s.Ingress...)
	s.offer(20)
	s.eventually(20*time.Second, "some are stored", func(context.Context) error {
		if s.stored(inbox) == 0 {
			return errors.New("none is")
		}
		return nil
	})
	first.Child().Kill()
	second, next := s.leader(15*time.Second+20*time.Second, s.other(first)) // a lease, and a slow machine
	if next <= fence {
		t.Errorf("got fence %d after %d, want a higher one", next, fence)
	}
	s.offer(5)
	if err := first.Start(s.within(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	ended := make(chan error, 1)
	go func() {
		code, err := second.Term(s.within(20 * time.Second))
		if err == nil && code != 0 {
			err = fmt.Errorf("exit code %d", code)
		}
		ended <- err
	}()
	s.leader(20*time.Second, first)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("got a new leader after %v, want it at once and not after the lease", took)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s.offer(5)
	s.settled()
}

// The leader is frozen for longer than its lease: another holds the session. Thawed,
// it learns that it has lost it, stays down, and takes it from nobody.
//
// FAULT: 25 https://github.com/verygoodplugins/whatsapp-mcp/pull/27
// SPEC: L1 L3 L4 T7
func TestAPollerThatLostItsSessionStaysDown(t *testing.T) {
	t.Parallel()
	s := polling(t, quick)
	first, _ := s.leader(20*time.Second, s.Ingress...)
	s.offer(20)
	first.Child().Freeze()
	second, fence := s.leader(30*time.Second, s.other(first))
	s.offer(5)
	first.Child().Thaw()
	s.eventually(20*time.Second, "the first knows that it has lost it", func(ctx context.Context) error {
		got, err := session(ctx, first)
		if err == nil && got.Role != "standby" {
			err = fmt.Errorf("it is the %s", got.Role)
		}
		return err
	})
	s.offer(5)
	s.settled()
	if got, err := session(t.Context(), second); err != nil || got.Role != "leader" || got.Fence != fence || !got.Open {
		t.Errorf("got %+v (%v), want the second to lead as before, with fence %d", got, err, fence)
	}
	if strings.Contains(s.Logs(), "taken over from outside") {
		t.Error("got a session taken over from outside, want none: all are of one fleet")
	}
}

// Redis is emptied under the one who leads. It holds the session on, or another does who
// came first: one of them in the end, and they do not take it from each other.
//
// FAULT: 25 https://github.com/FluuxIO/go-xmpp/issues/45
// SPEC: L1 L3 T9 T14
func TestAnEmptiedRedisLeavesOneWithTheSession(t *testing.T) {
	t.Parallel()
	s := polling(t, quick)
	_, before := s.leader(20*time.Second, s.Ingress...)
	s.offer(20)
	if err := flushAll(s.within(10*time.Second), s.Redis.Addr); err != nil {
		t.Fatal(err)
	}
	s.offer(5)
	<-time.After(lease) // who led has renewed its lease by then, or knows that it lost it
	s.eventually(30*time.Second, "one leads and the other stands by", func(ctx context.Context) error {
		var roles []string
		for _, r := range s.Ingress {
			got, err := session(ctx, r)
			if err != nil {
				return err
			}
			if got.Role == "leader" && (!got.Open || got.Fence < before) {
				return fmt.Errorf("%s leads with %+v, after fence %d", r.Name, got, before)
			}
			roles = append(roles, got.Role)
		}
		if slices.Sort(roles); !slices.Equal(roles, []string{"leader", "standby"}) {
			return fmt.Errorf("they are %q", roles)
		}
		return nil
	})
	s.offer(5)
	s.settled()
	elected := 0
	for _, r := range s.Ingress {
		m, err := r.Metrics(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		elected += int(m.Sum("bot_leader_changes_total", `reason="elected"`))
	}
	if elected < 1 || elected > 3 {
		t.Errorf("got %d elected, want one at first, and one or both once more at most", elected)
	}
}

// NATS is away: nothing that is not stored is confirmed, and polling goes on when it
// is back.
//
// SPEC: J1 L1
func TestNATSDownStopsPollingAndLosesNothing(t *testing.T) {
	t.Parallel()
	s := polling(t, nil)
	s.leader(20*time.Second, s.Ingress...)
	s.offer(5)
	s.KillNATS()
	s.offer(5)
	<-time.After(10 * time.Second)
	if got := len(s.api.Confirmed()); got > 5*16 {
		t.Errorf("got %d confirmed, want none of those that came while the journal was away", got)
	}
	if err := s.NATS.Start(s.within(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	s.offer(5)
	s.settled()
}

// The platform refuses the leader: it has a webhook. It is alive and not ready, says
// why, and another tries; once the webhook is gone all goes on.
//
// FAULT: 26 https://github.com/fabrahaingo/joel/pull/339
// SPEC: L4 W3
func TestAPollerThatReceivesNothingIsNotReady(t *testing.T) {
	t.Parallel()
	s := polling(t, map[string]string{"BOTMESH_PROVIDER_DOWN": "2s"})
	first, _ := s.leader(20*time.Second, s.Ingress...)
	if !s.other(first).Ready(t.Context()) {
		t.Error("got a standby that is not ready, want it ready")
	}
	s.method("setWebhook", `{"url":"https://elsewhere"}`)
	s.eventually(20*time.Second, "the leader is alive and not ready", first.AliveNotReady)
	s.offer(1)
	s.eventually(30*time.Second, "the other one tried", func(ctx context.Context) error {
		m, err := s.other(first).Metrics(ctx)
		if err == nil && m.Sum("bot_leader_changes_total", `reason="elected"`) == 0 {
			err = errors.New("it did not")
		}
		return err
	})
	if !strings.Contains(s.Logs(), "remove it with deleteWebhook") {
		t.Error("got no line that says what to do, want one")
	}
	s.method("deleteWebhook", `{}`)
	s.eventually(2*time.Minute, "somebody receives again", func(ctx context.Context) error {
		for _, r := range s.Ingress {
			if got, err := session(ctx, r); err == nil && got.Open && r.Ready(ctx) {
				return nil
			}
		}
		return errors.New("nobody does")
	})
	s.settled()
}

// method calls the platform, as the bot's owner does.
func (s *polled) method(name, body string) {
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, httptest.NewRequestWithContext(s.t.Context(), "POST", "/bot"+token+"/"+name, strings.NewReader(body)))
	if w.Code != 200 {
		s.t.Fatalf("%s: got %d %s, want 200", name, w.Code, w.Body)
	}
}
