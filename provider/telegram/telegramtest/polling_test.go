package telegramtest

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

const getUpdates = "/bot" + token + "/getUpdates"

// An update comes again until a poll asks for a higher number.
func TestUpdatesWaitUntilTheyAreConfirmed(t *testing.T) {
	t.Parallel()
	s := New(token)
	s.Offer(11, []byte(`{"update_id":11}`))
	s.Offer(10, []byte(`{"update_id":10}`))
	for _, c := range []struct {
		body, words string
		confirmed   []int64
	}{
		{`{}`, `[{"update_id":10},{"update_id":11}]`, nil},
		{`{"limit":1}`, `[{"update_id":10}]`, nil},
		{`{"offset":10}`, `[{"update_id":10},{"update_id":11}]`, nil},
		{`{"offset":11}`, `[{"update_id":11}]`, []int64{10}},
		{`{"offset":12}`, `[]`, []int64{10, 11}},
		{`offset=12`, `parse`, []int64{10, 11}},
	} {
		_, body := call(t, s, getUpdates, c.body)
		if !strings.Contains(body, c.words) || !slices.Equal(s.Confirmed(), c.confirmed) {
			t.Errorf("%s: got %s with %v confirmed, want %s with %v", c.body, body, s.Confirmed(), c.words, c.confirmed)
		}
	}
	if got := s.Polls(); got != 5 {
		t.Errorf("got %d polls, want the 5 that could be read", got)
	}
}

// The second poller has the updates, the first one a conflict.
func TestASecondPollThrowsTheFirstOut(t *testing.T) {
	t.Parallel()
	s := New(token)
	type answer struct {
		status int
		body   string
	}
	poll := func() <-chan answer {
		got := make(chan answer, 1)
		go func() {
			status, body := call(t, s, getUpdates, `{"timeout":50}`)
			got <- answer{status, body}
		}()
		return got
	}
	waits := func(polls int) {
		for deadline := time.Now().Add(20 * time.Second); s.Polls() < polls; {
			if time.Now().After(deadline) {
				t.Fatal("got no poll")
			}
			<-time.After(time.Millisecond)
		}
	}
	first := poll()
	waits(1)
	second := poll()
	if got := <-first; got.status != http.StatusConflict || !strings.Contains(got.body, "terminated by other getUpdates") {
		t.Errorf("got %+v for the first, want 409", got)
	}
	waits(2)
	s.Offer(1, []byte(`{"update_id":1}`))
	if got := <-second; got.status != http.StatusOK || !strings.Contains(got.body, `"update_id":1`) {
		t.Errorf("got %+v for the second, want the update", got)
	}
}

func TestAWebhookAndPollingExcludeEachOther(t *testing.T) {
	t.Parallel()
	s := New(token)
	call(t, s, "/bot"+token+"/setWebhook", `{"url":"https://x"}`)
	if status, body := call(t, s, getUpdates, `{}`); status != http.StatusConflict || !strings.Contains(body, "deleteWebhook") {
		t.Errorf("got %d %s with a webhook, want 409", status, body)
	}
	call(t, s, "/bot"+token+"/deleteWebhook", ``)
	if status, _ := call(t, s, getUpdates, `{}`); status != http.StatusOK {
		t.Errorf("got %d without a webhook, want 200", status)
	}
	s.NextPoll(RateLimit(time.Second))
	if status, body := call(t, s, getUpdates, `{}`); status != 429 || !strings.Contains(body, `"retry_after":1`) {
		t.Errorf("got %d %s, want the fault that was ordered", status, body)
	}
}
