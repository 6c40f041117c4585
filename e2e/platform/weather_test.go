package platform

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh/e2e/check"
)

// watched is a platform that tells the fate of each call.
func watched(t *testing.T, w Weather) (*Platform, chan Fate) {
	t.Helper()
	fates := make(chan Fate, 1)
	p, err := Start(Config{API: http.HandlerFunc(api), Token: "7:x", Secret: "s3cret",
		Watch: func(check.Call) func(Fate) { return func(f Fate) { fates <- f } }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	p.Weather(func(chat string) Weather {
		if chat == "5" {
			return w
		}
		return Weather{}
	})
	return p, fates
}

func TestWeatherDecidesWhatACallMeets(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		weather Weather
		fate    Fate
		body    string
	}{
		"good":           {Weather{}, Fate{Taken: true, Told: true, Status: 200}, ""},
		"throttled":      {Weather{Status: 429, RetryAfter: 2 * time.Second}, Fate{Status: 429}, `"parameters":{"retry_after":2}`},
		"broken":         {Weather{Status: 500}, Fate{Status: 500}, `"error_code":500`},
		"broken, though": {Weather{Status: 500, Taken: true}, Fate{Taken: true, Status: 500}, `"ok":false`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, fates := watched(t, tt.weather)
			resp, err := http.Post(p.URL("w")+"/bot7:x/sendMessage", "application/json", strings.NewReader(`{"chat_id": 5, "text": "a"}`))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != tt.fate.Status || !strings.Contains(string(body), tt.body) {
				t.Errorf("got %d %s, %v, want %d and %s", resp.StatusCode, body, err, tt.fate.Status, tt.body)
			}
			if diff := cmp.Diff(tt.fate, <-fates); diff != "" {
				t.Errorf("fate (-want +got):\n%s", diff)
			}
			if got := len(p.Texts(5)); (got == 1) != tt.fate.Taken {
				t.Errorf("the user sees %d messages, want taken %t", got, tt.fate.Taken)
			}
		})
	}
}

func TestLostAnswerLeavesTheMessage(t *testing.T) {
	t.Parallel()
	p, fates := watched(t, Weather{Lose: true})
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
	if err := p.AwaitText(t.Context(), 5, "a"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-gone:
		t.Fatalf("got an answer or %v, want silence", err)
	case <-time.After(20 * time.Millisecond):
	}
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the caller to have given up", err)
	}
	if diff := cmp.Diff(Fate{Taken: true}, <-fates); diff != "" {
		t.Errorf("fate (-want +got):\n%s", diff)
	}
}
