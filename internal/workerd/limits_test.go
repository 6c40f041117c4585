package workerd_test

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/internal/ingressd"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/redistest"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

// Two workers send from one account: in no window of time does the platform see
// more calls than the limit and its burst, and every message arrives.
//
// SPEC: O4 O5. DESIGN: D6
func TestTwoWorkersKeepOneLimit(t *testing.T) {
	t.Parallel()
	platform := telegramtest.New(token)
	api := httptest.NewServer(platform)
	t.Cleanup(api.Close)
	const rate, burst = 5, 2 // a second
	// A call may come up to a second later than it was allowed, on a busy machine: then the
	// window that begins with it sees as many more as are allowed in a second.
	platform.LimitAccount(time.Second/rate, burst+rate)
	s := settings(t, "BOTMESH_NATS_URL="+natstest.Start(t), "BOTMESH_REDIS_URL="+redistest.Start(t).URL(), "BOTMESH_TELEGRAM_API_URL="+api.URL,
		"BOTMESH_TELEGRAM_ACCOUNT_RATE=5/s+2", "BOTMESH_TELEGRAM_CHAT_RATE=off")
	in, err := ingressd.New(t.Context(), ingressd.Config{Settings: s})
	if err != nil {
		t.Fatal(err)
	}
	run(t, in.Run)
	f := &fleet{telegram: platform, ingress: in}
	natstest.Until(t, "the ingress is ready", func() bool { return in.Ready(t.Context()) == nil })
	const chats, each = 8, 3
	for i := range int64(chats) {
		f.post(t, telegramtest.Text(i+1, 100+i, fmt.Sprintf("/burst %d", each)))
	}
	began := time.Now()
	for _, replica := range []string{"w1", "w2"} {
		s.ReplicaID = replica
		w := newWorker(t, s)
		run(t, w.Run)
	}
	for i := range chats {
		f.expect(t, fmt.Sprint(100+i), "1/3", "2/3", "3/3")
	}
	// The whole time is sure: all that came in it was allowed in it.
	if took, least := time.Since(began), (chats*each-burst-1)*time.Second/rate; took < least {
		t.Errorf("got %d messages within %v, want that it takes %v", chats*each, took, least)
	}
	if got := platform.Calls(); got != chats*each {
		t.Errorf("got %d calls, want %d and none over the limit", got, chats*each)
	}
}
