package platform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh/e2e/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// api takes every call under its own path but those of chat 13.
func api(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Chat int64 `json:"chat_id"`
	}
	switch err := json.NewDecoder(r.Body).Decode(&body); {
	case r.URL.Path != "/bot7:x/sendMessage", err != nil:
		http.NotFound(w, r)
	case body.Chat == 13:
		http.Error(w, "no", http.StatusForbidden)
	}
}

func started(t *testing.T) *Platform {
	t.Helper()
	p, err := Start(Config{API: http.HandlerFunc(api), Token: "7:x", Secret: "s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func send(t *testing.T, base, body string) {
	t.Helper()
	resp, err := http.Post(base+"/bot7:x/sendMessage", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
}

func TestLogHoldsWhatWasTakenAndByWhom(t *testing.T) {
	t.Parallel()
	p := started(t)
	send(t, p.URL("worker1.1"), `{"chat_id": 5, "text": "a"}`)
	send(t, p.URL("worker2.3"), `{"chat_id": "5", "text": "refused: the API wants a number"}`)
	send(t, p.URL("worker2.3"), `{"chat_id": 13, "text": "refused"}`)
	send(t, p.URL("worker2.3"), `{"chat_id": 6, "text": "b"}`)
	got := p.Calls()
	for i := range got {
		if got[i].Done < got[i].At {
			t.Errorf("call %d: answered at %v, before it came at %v", i, got[i].Done, got[i].At)
		}
		got[i].At, got[i].Done = 0, 0
	}
	want := []check.Call{{Chat: "5", Text: "a", By: "worker1.1"}, {Chat: "6", Text: "b", By: "worker2.3"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b"}, p.Texts(6)); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}

func TestCallWhoseCallerGoesAwayIsTakenAllTheSame(t *testing.T) {
	t.Parallel()
	p := started(t)
	p.Delay(50 * time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL("w")+"/bot7:x/sendMessage", strings.NewReader(`{"chat_id": 5, "text": "a"}`))
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() {
		_, err := http.DefaultTransport.RoundTrip(req)
		gone <- err
	}()
	for p.arrived() == 0 {
		<-time.After(time.Millisecond)
	}
	cancel()
	if err := <-gone; err == nil {
		t.Fatal("got an answer, want the caller to be gone before")
	}
	if err := p.AwaitText(t.Context(), 5, "a"); err != nil {
		t.Fatal(err)
	}
	if c := p.Calls()[0]; c.Done-c.At < 50*time.Millisecond {
		t.Errorf("got a call that took %v, want 50ms", c.Done-c.At)
	}
}

// arrived counts the calls that came.
func (p *Platform) arrived() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.calls)
}

func TestAwaitEndsWhenTheTextComes(t *testing.T) {
	t.Parallel()
	p := started(t)
	done := make(chan error, 1)
	go func() { done <- p.AwaitText(t.Context(), 5, "b") }()
	send(t, p.URL("w"), `{"chat_id": 5, "text": "a"}`)
	select {
	case err := <-done:
		t.Fatalf("AwaitText returned %v before the text came", err)
	default:
	}
	send(t, p.URL("w"), `{"chat_id": 5, "text": "b"}`)
	if err := <-done; err != nil {
		t.Errorf("got %v, want no error", err)
	}
}

func TestUpdatesAreTelegrams(t *testing.T) {
	t.Parallel()
	p := started(t)
	a, b := p.Message(42, "/echo hé"), p.Message(42, "hi")
	if a.ID == b.ID {
		t.Errorf("got update id %d twice", a.ID)
	}
	var u struct {
		ID      int64 `json:"update_id"`
		Message struct {
			Text string
			Chat struct {
				ID   int64
				Type string
			}
			From     struct{ ID int64 }
			Entities []struct {
				Type           string
				Offset, Length int
			}
		}
	}
	if err := json.NewDecoder(bytes.NewReader(a.Body)).Decode(&u); err != nil {
		t.Fatal(err)
	}
	m := u.Message
	if u.ID != a.ID || m.Text != "/echo hé" || m.Chat.ID != 42 || m.Chat.Type != "private" || m.From.ID != 42 ||
		len(m.Entities) != 1 || m.Entities[0].Length != len("/echo") {
		t.Errorf("got %s", a.Body)
	}
}

func TestDeliverTriesUntilTakenWithOneBody(t *testing.T) {
	t.Parallel()
	p := started(t)
	var posts atomic.Int64
	var first []byte
	ingress := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		if _, err := body.ReadFrom(r.Body); err != nil {
			t.Error(err)
		}
		switch posts.Add(1) {
		case 1:
			first = body.Bytes()
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			if !bytes.Equal(body.Bytes(), first) || r.Header.Get(secretHeader) != "s3cret" || r.URL.Path != "/webhooks/telegram" {
				t.Errorf("got %s %v %s, want the first post again", r.URL, r.Header, body.Bytes())
			}
		}
	}))
	t.Cleanup(ingress.Close)
	if err := p.Say(t.Context(), []string{ingress.URL}, 1, "x"); err != nil || posts.Load() != 2 {
		t.Errorf("got %v after %d posts, want success after 2", err, posts.Load())
	}
}

func TestDeliverGivesUpOnARefusal(t *testing.T) {
	t.Parallel()
	p := started(t)
	ingress := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(ingress.Close)
	if err := p.Say(t.Context(), []string{ingress.URL}, 1, "x"); !errors.Is(err, ErrNotTaken) {
		t.Errorf("got %v, want ErrNotTaken", err)
	}
}
