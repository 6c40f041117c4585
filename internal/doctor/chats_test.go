package doctor_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/internal/doctor"
)

// Chats that wait for another build are told as that, once for all of them, beside what
// each waits for.
//
// DESIGN: N8.
func TestChatsThatWaitForABuild(t *testing.T) {
	t.Parallel()
	since := time.Now().Add(-time.Hour)
	waits := admin.Chat{State: admin.StateUnreadable, Why: []string{"there is no flow"}, Checkpoint: &admin.Checkpoint{Stranded: since}, Records: admin.Records{Waiting: 1, Oldest: since}}
	look := func(_ context.Context, path string, _ url.Values, out any) error {
		if chats, ok := out.(*[]admin.Chat); ok && path == "/v1/chats" {
			*chats = []admin.Chat{waits, {State: admin.StateIdle, Why: []string{"nothing waits"}}, waits}
		}
		return nil
	}
	found, err := doctor.Chats(t.Context(), look, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var builds []string
	for _, f := range found {
		if f.Check == "builds" {
			builds = append(builds, f.Text)
		}
	}
	if len(builds) != 1 || !strings.HasPrefix(builds[0], "2 chats wait for a build") || found[0].Check != "chats" || found[0].Level != doctor.Warning {
		t.Errorf("got %+v, want the two chats by themselves, and once what they wait for", found)
	}
}
