package ingressd

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/provider/telegram"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "hook"

func settings(t *testing.T, env ...string) config.Config {
	t.Helper()
	l, err := config.Load(config.Input{Environ: append(env, "BOTMESH_TELEGRAM_SECRET="+secret, "BOTMESH_LISTEN=127.0.0.1:0")})
	if err != nil {
		t.Fatal(err)
	}
	return l.Config
}

// start runs an ingress. stop tells it to end, ended gives what Run returned.
func start(t *testing.T, cfg Config) (in *Ingress, stop func(), ended <-chan error) {
	t.Helper()
	in, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	gone := make(chan struct{})
	go func() {
		done <- in.Run(ctx)
		close(gone)
	}()
	t.Cleanup(func() { cancel(); <-gone })
	return in, cancel, done
}

// ready waits until the ingress is ready and all streams are there: a server that
// stops while it makes one leaves goroutines behind.
func ready(t *testing.T, in *Ingress) {
	t.Helper()
	natstest.Until(t, "ready", func() bool { return in.Ready(t.Context()) == nil })
	s := in.cfg.Settings
	s.Streams = "create"
	if err := engine.Prepare(t.Context(), in.conn, s, in.cfg.Log); err != nil {
		t.Fatal(err)
	}
}

var client = http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func do(t *testing.T, method, url, body string, header http.Header) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func post(t *testing.T, in *Ingress) int {
	t.Helper()
	resp := do(t, http.MethodPost, "http://"+in.Addr()+"/webhooks/telegram", string(telegramtest.Text(1, 7, "hi")),
		http.Header{telegram.SecretHeader: {secret}})
	resp.Body.Close()
	return resp.StatusCode
}

// SPEC: J1 W3 X3
func TestTrustPublishesWithoutLooking(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t)
	in, stop, ended := start(t, Config{Settings: settings(t, "BOTMESH_NATS_URL="+url, "BOTMESH_STREAMS=trust")})
	if got := post(t, in); got != http.StatusServiceUnavailable {
		t.Errorf("without a stream: got %d, want 503", got)
	}
	if err := in.Ready(t.Context()); err == nil {
		t.Error("without a stream: got ready, want not")
	}
	if err := engine.Prepare(t.Context(), in.conn, settings(t), in.cfg.Log); err != nil { // somebody else makes them
		t.Fatal(err)
	}
	ready(t, in)
	if got := post(t, in); got != http.StatusOK {
		t.Errorf("got %d, want 200", got)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("after a drain: got %v, want no error", err)
	}
}

// SPEC: J1 W3
func TestWithoutNATS(t *testing.T) {
	t.Parallel()
	in, _, _ := start(t, Config{Settings: settings(t, "BOTMESH_NATS_URL=nats://127.0.0.1:1")})
	if got := post(t, in); got != http.StatusServiceUnavailable {
		t.Errorf("got %d, want 503", got)
	}
	if err := in.Ready(t.Context()); err == nil {
		t.Error("got ready, want not")
	}
	if in.Status().Trouble == "" {
		t.Error("got no trouble in the status, want some")
	}
}

// Streams that differ end the program: no waiting mends that.
func TestRunEndsWhenTheStreamsDiffer(t *testing.T) {
	t.Parallel()
	s := settings(t, "BOTMESH_NATS_URL="+natstest.Start(t))
	first, stop, ended := start(t, Config{Settings: s})
	ready(t, first)
	stop()
	<-ended
	s.Retention /= 2
	began := time.Now()
	_, _, ended = start(t, Config{Settings: s, Linger: 30 * time.Second}) // which is for a drain only
	if err := <-ended; !config.IsWrong(err) || !strings.Contains(err.Error(), "max_age") {
		t.Errorf("got %v, want it marked as wrong", err)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("got an end after %v, want it at once", took)
	}
}

// SPEC W3: those who have not heard of the drain yet are not turned away.
func TestWebhooksAreTakenWhileItLingers(t *testing.T) {
	t.Parallel()
	in, stop, ended := start(t, Config{Settings: settings(t, "BOTMESH_NATS_URL="+natstest.Start(t)), Linger: 3 * time.Second})
	ready(t, in)
	stop()
	if got := post(t, in); got != http.StatusOK {
		t.Errorf("got %d, want 200", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("got %v, want no error", err)
	}
	if _, err := client.Get("http://" + in.Addr()); err == nil {
		t.Error("got an answer after the end, want none")
	}
}

// An open page does not hold the drain up.
func TestOpenPagesEndWithTheDrain(t *testing.T) {
	t.Parallel()
	in, stop, ended := start(t, Config{Settings: settings(t, "BOTMESH_NATS_URL="+natstest.Start(t), "BOTMESH_WEBCHAT_SECRET=0123456789abcdef", "BOTMESH_DRAIN=30s")})
	ready(t, in)
	base := "http://" + in.Addr()
	session := do(t, http.MethodPost, base+"/webchat/session", "", http.Header{"Origin": {base}})
	session.Body.Close()
	cookie := session.Cookies()[0]
	chat, _, _ := strings.Cut(cookie.Value, ".")
	page := do(t, http.MethodGet, base+"/webchat/events?chat="+chat, "", http.Header{"Cookie": {cookie.String()}})
	defer page.Body.Close()
	if page.StatusCode != http.StatusOK {
		t.Fatalf("got %s, want an open stream", page.Status)
	}
	began := time.Now()
	stop()
	if _, err := io.Copy(io.Discard, page.Body); err != nil {
		t.Errorf("the stream: got %v, want a good end", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("got %v, want no error", err)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("got a drain of %v, want one that waits for no page", took)
	}
}

func TestTakenAddressSaysWhichSettingToChange(t *testing.T) {
	t.Parallel()
	s := settings(t, "BOTMESH_NATS_URL=nats://127.0.0.1:1")
	in, _, _ := start(t, Config{Settings: s})
	s.Listen = in.Addr()
	if _, err := New(t.Context(), Config{Settings: s}); err == nil || !strings.Contains(err.Error(), "BOTMESH_LISTEN") {
		t.Errorf("got %v, want the setting named", err)
	}
}
