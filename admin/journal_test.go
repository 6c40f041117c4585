package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/admin"
)

// The journal's page shows a range, and what was written only to who asks for it.
func TestThePageOfTheJournal(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openRooms(t))
	for i := 1; i <= 4; i++ {
		_, err := d.rooms.Journal.Publish(t.Context(), botmesh.Record{Type: botmesh.TypeMessage, ID: fmt.Sprint("m", i), User: "ana", Message: botmesh.Message{Text: fmt.Sprint("PLANTED ", i)},
			Chat: botmesh.ChatKey{Provider: "telegram", Chat: fmt.Sprint(i % 2)}})
		must(t, err)
	}
	for query, want := range map[string][]string{
		"":                                 {"1 telegram/1", "2 telegram/0", "3 telegram/1", "4 telegram/0"},
		"?from=2&to=3":                     {"2 telegram/0", "3 telegram/1"},
		"?limit=1":                         {"1 telegram/1"},
		"?last=2":                          {"3 telegram/1", "4 telegram/0"},
		"?chat=telegram%2F1":               {"1 telegram/1", "3 telegram/1"},
		"?chat=telegram%2F1&last=1&text=1": {"3 telegram/1 PLANTED 3"},
		"?chat=telegram%2F7":               {},
		"?since=2100-01-02T15:04:05Z":      {},
		"?until=2000-01-02T15:04:05.001Z":  {},
		"?since=" + time.Now().Add(-time.Hour).UTC().Format(time.RFC3339) + "&to=1": {"1 telegram/1"},
	} {
		w := d.ask(http.MethodGet, "/v1/journal"+query, "")
		var all []admin.Record
		if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: got %d %s, want records: %v", query, w.Code, w.Body, err)
		}
		got := []string{}
		for _, r := range all {
			line := fmt.Sprint(r.Seq, " ", r.Chat)
			if r.Message != nil {
				line += " " + r.Message.Text
			}
			got = append(got, line)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
		if !strings.Contains(query, "text") && strings.Contains(w.Body.String(), "PLANTED") {
			t.Errorf("%s: got %s, want nothing that was written", query, w.Body)
		}
	}
	for _, query := range []string{"from=x", "to=-1", "since=1h", "until=x", "limit=0", "limit=10001", "last=10001", "limit=201&text=1", "chat=x"} {
		if w := d.ask(http.MethodGet, "/v1/journal?"+query, ""); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), strings.SplitN(query, "=", 2)[0]) {
			t.Errorf("%s: got %d %s, want 400 that says what is wrong", query, w.Code, w.Body)
		}
	}
}
