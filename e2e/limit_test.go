package e2e

import (
	"fmt"
	"strconv"
	"testing"
	"time"
)

// Workers that are processes of their own send from one account all at once: together
// they call no faster than it allows, and each message arrives once, in order.
//
// SPEC: O4 O5. DESIGN: D6
func TestProcessesKeepOneLimit(t *testing.T) {
	t.Parallel()
	s := started(t, map[string]string{"BOTMESH_TELEGRAM_ACCOUNT_RATE": "10/s+3", "BOTMESH_TELEGRAM_CHAT_RATE": "off"})
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
	// A call may come later than it was allowed, never earlier: the windows that begin
	// with all of it are sure.
	if took, least := time.Since(began), (chats*each-4)*time.Second/10; took < least {
		t.Errorf("got %d messages within %v, want that it takes %v", chats*each, took, least)
	}
	by := map[string]int{}
	for _, c := range s.Calls() {
		by[c.By]++
	}
	t.Logf("calls by worker: %v", by)
	s.verify(want)
}
