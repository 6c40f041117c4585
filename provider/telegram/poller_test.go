package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/providertest"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

func newPoller(t testing.TB, api string) *Poller {
	t.Helper()
	p, err := NewPoller(PollerConfig{Token: testToken, API: api, Wait: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// polled is a Telegram and a poller of it.
func polled(t testing.TB) (*telegramtest.Server, *Poller) {
	t.Helper()
	tg := telegramtest.New(testToken)
	srv := httptest.NewServer(tg)
	t.Cleanup(srv.Close)
	return tg, newPoller(t, srv.URL)
}

// SPEC: L2 J1 J2: what every session does.
func TestPolling(t *testing.T) {
	t.Parallel()
	providertest.Session(t, func(t testing.TB) providertest.Held {
		tg, p := polled(t)
		var id int64
		return providertest.Held{
			Session:   p,
			Confirmed: func() int { return len(tg.Confirmed()) },
			Offer: func(texts ...string) {
				for _, text := range texts {
					id++
					tg.Offer(id, telegramtest.Text(id, 55, text))
				}
			},
		}
	})
}

// keeper is a sink that keeps what it is given until it has enough.
type keeper struct {
	enough int
	end    context.CancelFunc

	mu    sync.Mutex
	items [][]byte
}

func (k *keeper) Store(_ context.Context, items [][]byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.items = append(k.items, items...)
	if len(k.items) >= k.enough {
		k.end()
	}
	return nil
}

func (*keeper) Alive() {}

// SPEC: L1 L2
func TestAPolledUpdateIsTheRecordOfItsWebhook(t *testing.T) {
	t.Parallel()
	p, r := newPoller(t, ""), newReceiver(t)
	if !p.Exclusive() || p.ID() != ID {
		t.Errorf("got exclusive %v and id %q, want an exclusive %q", p.Exclusive(), p.ID(), ID)
	}
	for _, name := range []string{"button", "photo_with_caption", "reaction"} {
		got, gotErr := p.Parse(read(t, name))
		want, wantErr := r.Parse(signed(), read(t, name))
		if diff := cmp.Diff(want, got); diff != "" || gotErr != nil || wantErr != nil {
			t.Errorf("%s: got %v and %v (-want +got):\n%s", name, gotErr, wantErr, diff)
		}
	}
}

// All that is understood is asked for: some of it Telegram sends to nobody else.
func TestKindsAreThoseThatAreUnderstood(t *testing.T) {
	t.Parallel()
	var understood []string
	for i := range reflect.TypeFor[update]().NumField() {
		if tag := reflect.TypeFor[update]().Field(i).Tag.Get("json"); tag != "update_id" {
			understood = append(understood, tag)
		}
	}
	if diff := cmp.Diff(understood, kinds, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

// What Telegram answers to a poll, and what it means. The token is in no error.
func TestWhyAPollingEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		body   string
		taken  bool
		after  time.Duration
		word   string
	}{
		"Taken":      {409, `{"ok":false,"error_code":409,"description":"Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"}`, true, 0, "terminated"},
		"Webhook":    {409, `{"ok":false,"error_code":409,"description":"Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"}`, false, 30 * time.Second, "remove it with deleteWebhook"},
		"Limit":      {429, `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 7","parameters":{"retry_after":7}}`, false, 7 * time.Second, "429"},
		"Token":      {401, `{"ok":false,"error_code":401,"description":"Unauthorized"}`, false, 30 * time.Second, "the token or the API address is wrong"},
		"Outage":     {502, `<html>`, false, 0, "502"},
		"Foreign":    {200, `<html>`, false, 30 * time.Second, "not from the Bot API"},
		"NoList":     {200, `{"ok":true,"result":true}`, false, 0, "no list"},
		"NoNumber":   {200, `{"ok":true,"result":[{"message":{}}]}`, false, 0, "without a number"},
		"BadRequest": {400, `{"ok":false,"error_code":400,"description":"Bad Request"}`, false, 30 * time.Second, "400"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			}))
			defer srv.Close()
			err := newPoller(t, srv.URL).Run(t.Context(), &keeper{})
			after, _ := provider.RetryAfter(err)
			if err == nil || errors.Is(err, provider.ErrTaken) != tt.taken || after != tt.after || !strings.Contains(err.Error(), tt.word) {
				t.Errorf("got %v, after %v; want taken %v, after %v and %q in it", err, after, tt.taken, tt.after, tt.word)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("got the token in %q", err)
			}
		})
	}
	if err := newPoller(t, "http://127.0.0.1:1").Run(t.Context(), &keeper{}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("nobody listens: got %v, want an error without the token", err)
	}
}

// An answer that is too long is asked for again in smaller pieces.
func TestAnAnswerThatIsTooLong(t *testing.T) {
	t.Parallel()
	tg, p := polled(t)
	long := strings.Repeat("x", maxAnswer/40)
	for id := int64(1); id <= 60; id++ {
		tg.Offer(id, telegramtest.Text(id, 55, long))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	k := &keeper{enough: 60, end: cancel}
	if err := p.Run(ctx, k); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end that was asked for", err)
	}
	if len(k.items) != 60 || len(tg.Confirmed()) != 60 {
		t.Errorf("got %d stored and %d confirmed, want 60 of both", len(k.items), len(tg.Confirmed()))
	}
}

// After a quiet week Telegram's numbers begin anew, and may be lower: a number is
// asked for only until it is known to have arrived.
func TestNumbersThatBeginAnew(t *testing.T) {
	t.Parallel()
	var offsets []int64
	answers := []string{`[{"update_id":9000}]`, `[]`, `[{"update_id":5}]`, `[]`}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Offset int64 }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		n := len(offsets)
		offsets = append(offsets, q.Offset)
		io.WriteString(w, `{"ok":true,"result":`+answers[min(n, len(answers)-1)]+`}`)
	}))
	defer srv.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := newPoller(t, srv.URL).Run(ctx, &keeper{enough: 2, end: cancel}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end that was asked for", err)
	}
	srv.Close() // what reads offsets is over
	if diff := cmp.Diff([]int64{0, 9001, 0, 6}, offsets); diff != "" {
		t.Errorf("numbers asked for (-want +got):\n%s", diff)
	}
}

func TestPressedButtonsStopWaiting(t *testing.T) {
	t.Parallel()
	tg, p := polled(t)
	tg.Offer(77, telegramtest.Press(77, 55, 3, "yes"))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, &keeper{enough: 2, end: cancel}) }()
	for deadline := time.Now().Add(20 * time.Second); len(tg.Answered()) == 0 && time.Now().Before(deadline); {
		<-time.After(5 * time.Millisecond)
	}
	cancel()
	<-done
	if diff := cmp.Diff([]string{"77"}, tg.Answered()); diff != "" {
		t.Errorf("answered presses (-want +got):\n%s", diff)
	}
}

func TestNewPollerNamesAllFaults(t *testing.T) {
	t.Parallel()
	_, err := NewPoller(PollerConfig{ID: "A b", Token: "no token", API: "ftp://x", Wait: time.Minute})
	for _, word := range []string{`"A b"`, "token is missing", "API address", "1m0s"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("got %v, want it to name %q", err, word)
		}
	}
	if err != nil && strings.Contains(err.Error(), "no token") {
		t.Errorf("got the token in %q", err)
	}
}
