package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// SPEC: J7
func TestListFiltersByChatPlaceAndTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := jet.NewMemory()
		j := openMemory(t, server, "e1")
		began := time.Now()
		for i := range 600 {
			id := fmt.Sprint(i)
			mustPublish(t, j.Publisher, message(chat(fmt.Sprint(i%2)), id, id))
			pass(time.Minute)
		}
		server.Stream(InboxStream(testBot), jet.MemoryConfig{}).Remove(301)
		at := func(i int) time.Time { return began.Add(time.Duration(i) * time.Minute) }
		for name, c := range map[string]struct {
			f           Filter
			first, last string
			n           int
		}{
			"default":      {Filter{}, "0", "99", DefaultList},
			"all":          {Filter{Limit: MaxList + 1}, "0", "599", 599},
			"chat":         {Filter{Chat: chat("1"), Limit: 1000}, "1", "599", 300},
			"from":         {Filter{From: 501, Limit: 1000}, "500", "599", 100},
			"to":           {Filter{From: 11, To: 20}, "10", "19", 10},
			"newest to":    {Filter{Newest: true, To: 20, Limit: 3}, "17", "19", 3},
			"since":        {Filter{Since: at(590), Limit: 1000}, "590", "599", 10},
			"since gap":    {Filter{Since: at(300), Limit: 1000}, "301", "599", 299},
			"between":      {Filter{Since: at(10).Add(-time.Second), Until: at(19), Limit: 1000}, "10", "19", 10},
			"from wins":    {Filter{Since: at(10), From: 101, Until: at(109)}, "100", "109", 10},
			"chat since":   {Filter{Chat: chat("0"), Since: at(595), Limit: 1000}, "596", "598", 2},
			"too late":     {Filter{Since: at(1000)}, "", "", 0},
			"too early":    {Filter{Until: at(-1)}, "", "", 0},
			"newest":       {Filter{Newest: true, Limit: 3}, "597", "599", 3},
			"newest chat":  {Filter{Newest: true, Limit: 20, Chat: chat("0")}, "560", "598", 20},
			"newest gap":   {Filter{Newest: true, Limit: 400}, "199", "599", 400},
			"newest until": {Filter{Newest: true, Limit: 2, Until: at(100)}, "99", "100", 2},
			"newest from":  {Filter{Newest: true, From: 599}, "598", "599", 2},
			"newest few":   {Filter{Newest: true, Limit: 2, Chat: chat("9")}, "", "", 0},
			"nobody":       {Filter{Chat: chat("9")}, "", "", 0},
		} {
			entries, err := j.List(t.Context(), c.f)
			if err != nil {
				t.Fatal(err)
			}
			var first, last string
			if len(entries) > 0 {
				first, last = entries[0].Record.Message.Text, entries[len(entries)-1].Record.Message.Text
			}
			if len(entries) != c.n || first != c.first || last != c.last {
				t.Errorf("%s: got %d from %q to %q, want %d from %q to %q", name, len(entries), first, last, c.n, c.first, c.last)
			}
		}
	})
}

// A replica that lags cuts a listing short nowhere.
func TestListAsksTheLeaderForTheEnd(t *testing.T) {
	t.Parallel()
	j := openMemory(t, jet.NewMemory(), "e1")
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint(i))
		mustPublish(t, j.Publisher, message(chat("1"), fmt.Sprint(i), fmt.Sprint(i)))
	}
	f := &faulty{Stream: j.inbox}
	f.rangeOf = func(ctx context.Context, subject string, from uint64, limit int) ([]jet.Stored, error) {
		page, err := f.Stream.Range(ctx, subject, from, limit)
		return slices.DeleteFunc(page, func(m jet.Stored) bool { return m.Seq > 15 }), err
	}
	j.inbox = f
	entries, err := j.List(t.Context(), Filter{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Record.Message.Text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Statuses are kept beside a chat's records, and those of a whole group are found for
// each of its participants.
//
// SPEC: J9
func TestStatusesOfAChat(t *testing.T) {
	t.Parallel()
	j := openMemory(t, jet.NewMemory(), "e1")
	group := chat("-100")
	member := group
	member.Participant = "55"
	for i, c := range []botmesh.ChatKey{group, member, chat("1"), group} {
		mustPublish(t, j.Publisher, botmesh.Record{Type: botmesh.TypeStatus, ID: fmt.Sprint(i), Chat: c,
			Message: botmesh.Message{Of: "m1", Status: "read", Part: fmt.Sprint(i)}})
	}
	mustPublish(t, j.Publisher, message(member, "said", "said"))
	for want, c := range map[string]botmesh.ChatKey{"[0 1 3]": member, "[0 3]": group, "[2]": chat("1"), "[]": chat("9")} {
		entries, err := j.Statuses(t.Context(), Filter{Chat: c})
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, e := range entries {
			if e.Err != nil || e.Record.Type != botmesh.TypeStatus || e.Record.Message.Status != "read" {
				t.Errorf("got %+v, want a status", e)
			}
			got = append(got, e.Record.Message.Part)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, want %s", c.Key(), got, want)
		}
	}
}

// What is not behind a sequence is told from what may have been there and is gone.
func TestHoldsBehind(t *testing.T) {
	t.Parallel()
	server := jet.NewMemory()
	j := openMemory(t, server, "e1")
	for i := range 600 {
		mustPublish(t, j.Publisher, message(chat(fmt.Sprint(i%2)), fmt.Sprint(i), "x"))
	}
	for i := range uint64(10) {
		server.Stream(InboxStream(testBot), jet.MemoryConfig{}).Remove(i + 1)
	}
	for _, c := range []struct {
		id    string
		seq   uint64
		there bool
		gone  bool
	}{
		{"598", 11, true, false}, {"598", 598, true, false}, {"598", 599, false, false}, {"none", 11, false, false},
		{"none", 10, false, true}, {"none", 0, false, true}, {"598", 0, true, false}, {"599", 11, false, false},
	} {
		there, err := j.HoldsBehind(t.Context(), chat("0"), c.id, c.seq)
		if there != c.there || errors.Is(err, botmesh.ErrNotFound) != c.gone || err != nil && !c.gone {
			t.Errorf("%s behind %d: got %v, %v, want %v, gone %v", c.id, c.seq, there, err, c.there, c.gone)
		}
	}
}
