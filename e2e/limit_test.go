package e2e

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

// Workers that are processes of their own send from one account all at once: in no window
// of time do they call more often together than it allows, and each message arrives once,
// in order.
//
// SPEC: O4 O5. DESIGN: D6
func TestProcessesKeepOneLimit(t *testing.T) {
	t.Parallel()
	s := started(t, map[string]string{"BOTMESH_TELEGRAM_ACCOUNT_RATE": "10/s+3", "BOTMESH_TELEGRAM_CHAT_RATE": "off"})
	const rate, burst = 10, 3 // a second
	// A call may come up to a second later than it was allowed, on a busy machine: then the
	// window that begins with it sees as many more as are allowed in a second.
	api := s.API().(*telegramtest.Server)
	api.LimitAccount(time.Second/rate, burst+rate)
	const chats, each = 20, 3
	want := map[string][]string{}
	began := time.Now()
	for c := range int64(chats) {
		s.say(firstChat+c, fmt.Sprintf("/burst %d", each))
		want[strconv.FormatInt(firstChat+c, 10)] = []string{"1/3", "2/3", "3/3"}
	}
	for c := range int64(chats) {
		s.hears(firstChat+c, "3/3", time.Minute)
	}
	// The whole time is sure: all that came in it was allowed in it.
	if took, least := time.Since(began), (chats*each-burst-1)*time.Second/rate; took < least {
		t.Errorf("got %d messages within %v, want that it takes %v", chats*each, took, least)
	}
	if got := api.Calls(); got != chats*each {
		t.Errorf("got %d calls, want %d and none over the limit", got, chats*each)
	}
	by := map[string]int{}
	for _, c := range s.Calls() {
		by[c.By]++
	}
	t.Logf("calls by worker: %v", by)
	s.verify(want)
}
