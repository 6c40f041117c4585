package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/admin"
)

// fakeServers say what they were asked, and look at a page of the API.
type fakeServers struct{ err error }

func (s fakeServers) Plan(context.Context) (any, error) { return []string{"differs"}, s.err }

func (s fakeServers) Examine(ctx context.Context, look admin.Look, waiting time.Duration) (any, error) {
	var dead []admin.Dead
	err := look(ctx, "/v1/dead", url.Values{"limit": {"1"}}, &dead)
	return fmt.Sprintf("%v %d %v", waiting, len(dead), err), s.err
}

// What looks at the servers is answered also while no chats are served, to who has the
// token, and where there is somebody to look.
func TestPagesOfTheServers(t *testing.T) {
	t.Parallel()
	rooms := openRooms(t)
	for name, test := range map[string]struct {
		servers  admin.Servers
		rooms    *admin.Rooms
		path     string
		code     int
		says     string
		stranger bool
	}{
		"plan":                {servers: fakeServers{}, path: "/v1/streams/plan", code: 200, says: `["differs"]`},
		"plan without answer": {servers: fakeServers{botmesh.ErrRefused}, path: "/v1/streams/plan", code: 503},
		"doctor":              {servers: fakeServers{}, rooms: rooms, path: "/v1/doctor", code: 200, says: `"1m0s 0 \u003cnil\u003e"`},
		"doctor waiting":      {servers: fakeServers{}, rooms: rooms, path: "/v1/doctor?waiting=5m", code: 200, says: "5m0s"},
		"doctor not serving":  {servers: fakeServers{}, path: "/v1/doctor", code: 200, says: "not serving yet"},
		"doctor wrong":        {servers: fakeServers{}, path: "/v1/doctor?waiting=x", code: 400, says: "waiting is"},
		"nobody to look":      {path: "/v1/doctor", code: 404, says: "looks at no servers"},
		"nobody to plan":      {path: "/v1/streams/plan", code: 404, says: "looks at no servers"},
		"a stranger":          {servers: fakeServers{}, path: "/v1/doctor", code: 401, stranger: true},
		"a stranger's plan":   {servers: fakeServers{}, path: "/v1/streams/plan", code: 401, stranger: true},
		"no rooms":            {path: "/v1/dead", code: 503, says: "not serving yet"},
	} {
		api, err := admin.New(admin.Config{Token: token, Journal: &fakeJournal{}, Servers: test.servers, Rooms: func() *admin.Rooms { return test.rooms }})
		must(t, err)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, test.path, nil)
		if !test.stranger {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		if w.Code != test.code || !strings.Contains(w.Body.String(), test.says) || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: got %d %s, want %d with %q", name, w.Code, w.Body, test.code, test.says)
		}
	}
}
