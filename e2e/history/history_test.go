package history_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/provider/telegram"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

func open(t *testing.T, dir, process string) *history.Log {
	t.Helper()
	l, err := history.Open(filepath.Join(dir, process+history.Suffix), process)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func read(t *testing.T, dir string) []history.Event {
	t.Helper()
	events, err := history.ReadDir(dir, history.All)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// What several processes wrote, each from several goroutines, comes back whole, as
// one history in the order of time.
func TestHistoriesMerge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	logs := []*history.Log{open(t, dir, "a"), open(t, dir, "b")}
	var wg sync.WaitGroup
	const each = 200
	for _, l := range logs {
		for range 2 {
			wg.Go(func() {
				for range each {
					expect := uint64(3)
					call := l.Begin(history.Event{Kind: history.Commit, Chat: "fake.7", ID: "n", Expect: &expect})
					l.End(call, history.Event{Kind: history.Commit, Outcome: history.Done, Seq: 4})
				}
			})
		}
	}
	wg.Wait()
	events := read(t, dir)
	if got, want := len(events), 2*2*2*each; got != want {
		t.Fatalf("got %d events, want %d", got, want)
	}
	for i := range events[1:] {
		if events[i].T > events[i+1].T {
			t.Fatalf("event %d is later than the next one", i)
		}
	}
	ops := history.Operations(events, history.Commit)
	if got, want := len(ops), 2*2*each; got != want {
		t.Fatalf("got %d operations, want %d", got, want)
	}
	for _, o := range ops {
		if !o.Known() || o.Result.Process != o.Call.Process || o.Result.Of != o.Call.N || *o.Call.Expect != 3 || o.Result.Seq != 4 || o.Until() < o.Call.T {
			t.Fatalf("got call %+v with result %+v, want its own", o.Call, o.Result)
		}
	}
}

// A process that died leaves a call without a result, and perhaps half a line.
func TestACallOfTheDeadReturnsNever(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir, "a")
	l.Begin(history.Event{Kind: history.Call, Part: "p"})
	f, err := os.OpenFile(filepath.Join(dir, "a"+history.Suffix), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(`{"t":12,"k":"ca`); err != nil {
		t.Fatal(err)
	}
	// The next start of the same name writes into a file of its own.
	open(t, dir, "a.2").End(1, history.Event{Kind: history.Call, Outcome: history.Done})
	ops := history.Operations(read(t, dir), history.Call)
	if len(ops) != 1 || ops[0].Known() || ops[0].Until() != history.Forever {
		t.Errorf("got %+v, want one call without a result", ops)
	}
}

func TestABrokenLineIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"+history.Suffix), []byte("{}\n{\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if events, err := history.ReadDir(dir, history.All); err == nil {
		t.Errorf("got %v, want an error", events)
	}
}

func TestWithoutALogNothingIsWritten(t *testing.T) {
	t.Parallel()
	var l *history.Log
	l.End(l.Begin(history.Event{}), history.Event{})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// The clock is the machine's, and goes on.
func TestNow(t *testing.T) {
	t.Parallel()
	before, began := history.Now(), time.Now()
	for time.Since(began) < time.Millisecond {
	}
	if took := time.Duration(history.Now() - before); took < time.Millisecond || took > time.Minute {
		t.Errorf("got %v for a millisecond or a little more", took)
	}
}

// ids keeps the ids of what is journaled.
type ids []string

func (j *ids) Publish(_ context.Context, r botmesh.Record) (journal.Placed, error) {
	*j = append(*j, r.ID)
	return journal.Placed{}, nil
}

// A backend's send is known by its record's id, too.
func TestTheNameOfASend(t *testing.T) {
	t.Parallel()
	var got ids
	const token = "a token of length"
	api, err := admin.New(admin.Config{Token: token, Journal: &got, Providers: []string{"telegram"}})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chats/telegram%2F7/send", strings.NewReader(`{"text":"x"}`))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Idempotency-Key", "k")
	api.ServeHTTP(httptest.NewRecorder(), r)
	if diff := cmp.Diff(ids{history.Ordered(history.Telegram(7), "k")}, got); diff != "" {
		t.Errorf("id (-want +got):\n%s", diff)
	}
}

// The names of a history are those that the programs use.
func TestTelegramsNames(t *testing.T) {
	t.Parallel()
	r, err := telegram.NewReceiver(telegram.ReceiverConfig{Secret: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	recs, err := r.Parse(nil, telegramtest.Text(100_000_001, -7, "hi"))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{recs[0].Chat.Key(), recs[0].ID}
	if diff := cmp.Diff([]string{history.Telegram(-7), history.Update(100_000_001)}, got); diff != "" {
		t.Errorf("chat and id (-want +got):\n%s", diff)
	}
}
