package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/coord"
)

// A chat that stays paused keeps its records where the listing begins. Neither it nor
// those that were handled behind it hide one that waits.
func TestAPausedChatHidesNoOther(t *testing.T) {
	t.Parallel()
	rooms := openRooms(t)
	api, err := admin.New(admin.Config{Token: token, Journal: rooms.Journal, Rooms: func() *admin.Rooms { return rooms }})
	must(t, err)
	record := func(chat string, handled bool) {
		key := botmesh.ChatKey{Provider: "telegram", Chat: chat}
		placed, err := rooms.Journal.Publish(t.Context(), botmesh.Record{Type: botmesh.TypeMessage, ID: "of-" + chat, Chat: key})
		must(t, err)
		if !handled {
			return
		}
		value, err := checkpoint.Checkpoint{Chat: key, Epoch: "e1", Cursor: placed.Seq}.Encode()
		must(t, err)
		_, err = rooms.Store.Swap(t.Context(), key.Key(), checkpoint.Row{}, value, "n"+chat, 0)
		must(t, err)
	}
	record("paused", false)
	for i := range 20 {
		record(fmt.Sprint("handled", i), true)
	}
	record("waits", false)
	record("waits-too", false)
	_, err = rooms.Pauses.Set(t.Context(), acts.Pause{Chat: botmesh.ChatKey{Provider: "telegram", Chat: "paused"}, On: true, Scope: acts.All})
	must(t, err)

	for query, want := range map[string][]string{
		"?limit=2":                  {"telegram/paused", "telegram/waits"},
		"?limit=1&state=waiting":    {"telegram/waits"},
		"":                          {"telegram/paused", "telegram/waits", "telegram/waits-too"},
		"?all=1&limit=1&state=idle": {"telegram/handled0"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/chats"+query, strings.NewReader(""))
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		var found []admin.Chat
		if err := json.Unmarshal(w.Body.Bytes(), &found); err != nil {
			t.Fatalf("got %s: %v", w.Body, err)
		}
		var got []string
		for _, c := range found {
			got = append(got, c.Chat)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("chats%s differ (-want +got):\n%s", query, d)
		}
	}
}

// A chat that waits for another build says so, with the reason, who wrote what can not be
// read, and what to do.
//
// DESIGN: N8.
func TestAStrandedChatSaysWhy(t *testing.T) {
	t.Parallel()
	rooms := openRooms(t)
	api, err := admin.New(admin.Config{Token: token, Journal: rooms.Journal, Rooms: func() *admin.Rooms { return rooms }})
	must(t, err)
	rooms.Turns = populated{replica(t, &coord.MemoryHub{}, "a")}
	key := botmesh.ChatKey{Provider: "telegram", Chat: "1"}
	placed, err := rooms.Journal.Publish(t.Context(), botmesh.Record{Type: botmesh.TypeMessage, ID: "1", Chat: key})
	must(t, err)
	since := time.Now().Add(-time.Hour)
	value, err := checkpoint.Checkpoint{Chat: key, Epoch: "e1", State: []byte("x"), By: "worker-2", Deploy: 7, Tries: &checkpoint.Tries{
		Record: placed.Seq, Epoch: "e1", Stranded: since, Error: "flow order has no step \"size\"",
	}}.Encode()
	must(t, err)
	_, err = rooms.Store.Swap(t.Context(), key.Key(), checkpoint.Row{}, value, "n", 0)
	must(t, err)
	for _, path := range []string{"/v1/chats/telegram%2F1", "/v1/chats?state=unreadable", "/v1/chats/telegram%2F1/timeline"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, strings.NewReader(""))
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		for _, want := range []string{`flow order has no step \"size\"`, "worker-2", since.UTC().Format(time.RFC3339)} {
			if !strings.Contains(strings.ReplaceAll(w.Body.String(), `\\`, `\`), want) {
				t.Errorf("%s: got %s, want %s in it", path, w.Body, want)
			}
		}
		if strings.Contains(w.Body.String(), "is a worker there") {
			t.Errorf("%s: got %s, want no guess that no worker is there", path, w.Body)
		}
	}
}
