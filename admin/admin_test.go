package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/journal"
)

const token = "a token of length"

// fakeJournal keeps what is published, each id once.
type fakeJournal struct {
	records []botmesh.Record
	err     error
}

func (j *fakeJournal) Publish(_ context.Context, r botmesh.Record) (journal.Placed, error) {
	if j.err != nil {
		return journal.Placed{}, j.err
	}
	for i, known := range j.records {
		if known.ID == r.ID {
			return journal.Placed{Seq: uint64(i + 1), Duplicate: true}, nil
		}
	}
	j.records = append(j.records, r)
	return journal.Placed{Seq: uint64(len(j.records))}, nil
}

func newAPI(t *testing.T, j admin.Journal) *admin.API {
	t.Helper()
	api, err := admin.New(admin.Config{Token: token, Journal: j, Providers: []string{"telegram"}})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// post sends a message and returns status and answer.
func post(t *testing.T, api http.Handler, path, body string, header ...string) (*httptest.ResponseRecorder, admin.Sent) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	var sent admin.Sent
	if err := json.Unmarshal(w.Body.Bytes(), &sent); err != nil {
		t.Errorf("got an answer that is no JSON: %q", w.Body)
	}
	return w, sent
}

const toChat = "/v1/chats/telegram%2F-100123%2F55/send"

// SPEC: J2. DESIGN: C9.
func TestSendBecomesOneRecordOfItsChat(t *testing.T) {
	t.Parallel()
	j := &fakeJournal{}
	api := newAPI(t, j)
	for i := range 2 {
		w, sent := post(t, api, toChat, `{"text":"ready","buttons":[[{"label":"Yes","payload":"y"}]]}`, "Idempotency-Key", "order-7")
		if want := (admin.Sent{Seq: 1, Duplicate: i > 0}); w.Code != http.StatusAccepted || sent != want {
			t.Errorf("request %d: got %d %+v, want 202 %+v", i, w.Code, sent, want)
		}
	}
	want := botmesh.Record{
		Type: botmesh.TypeCommand, Chat: botmesh.ChatKey{Provider: "telegram", Chat: "-100123", Participant: "55"},
		Sends: []botmesh.Send{{Text: "ready", Buttons: [][]botmesh.Button{{{Label: "Yes", Payload: "y"}}}}},
	}
	if len(j.records) != 1 {
		t.Fatalf("got %d records, want 1", len(j.records))
	}
	want.ID = j.records[0].ID
	if diff := cmp.Diff(want, j.records[0]); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestSendTakesMarkdown(t *testing.T) {
	t.Parallel()
	j := &fakeJournal{}
	w, _ := post(t, newAPI(t, j), toChat, `{"markdown":"It is **ready**.","buttons":[[{"label":"Yes","payload":"y"}]]}`)
	want := []botmesh.Send{{
		Text: "It is ready.", Spans: []botmesh.Span{{From: 6, To: 11, Style: botmesh.StyleBold}},
		Buttons: [][]botmesh.Button{{{Label: "Yes", Payload: "y"}}},
	}}
	if w.Code != http.StatusAccepted || len(j.records) != 1 {
		t.Fatalf("got %d %s and %d records, want 202 and one", w.Code, w.Body, len(j.records))
	}
	if diff := cmp.Diff(want, j.records[0].Sends); diff != "" {
		t.Errorf("sends (-want +got):\n%s", diff)
	}
}

func TestSendsOfDifferentChatsOrWithoutAKeyAreDifferent(t *testing.T) {
	t.Parallel()
	j := &fakeJournal{}
	api := newAPI(t, j)
	post(t, api, "/v1/chats/telegram%2F1/send", `{"text":"x"}`, "Idempotency-Key", "k")
	post(t, api, "/v1/chats/telegram%2F2/send", `{"text":"x"}`, "Idempotency-Key", "k")
	post(t, api, "/v1/chats/telegram%2F1/send", `{"text":"x"}`)
	post(t, api, "/v1/chats/telegram%2F1/send", `{"text":"x"}`)
	if len(j.records) != 4 {
		t.Errorf("got %d records, want 4", len(j.records))
	}
}

// A file is a message, also without a text.
func TestSendTakesAFile(t *testing.T) {
	t.Parallel()
	j := &fakeJournal{}
	w, _ := post(t, newAPI(t, j), toChat, `{"media":{"kind":"document","url":"https://example.org/bill.pdf","name":"bill.pdf"}}`)
	want := []botmesh.Send{{Media: &botmesh.Media{Kind: botmesh.MediaDocument, URL: "https://example.org/bill.pdf", Name: "bill.pdf"}}}
	if len(j.records) != 1 || cmp.Diff(want, j.records[0].Sends) != "" {
		t.Errorf("got %d %s and %+v, want %+v", w.Code, w.Body, j.records, want)
	}
}

func TestWhatIsNotASendIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path, body string
		header           []string
		status           int
		says             string
	}{
		{"no token", toChat, `{"text":"x"}`, []string{"Authorization", ""}, 401, "BOTMESH_ADMIN_TOKEN"},
		{"wrong token", toChat, `{"text":"x"}`, []string{"Authorization", "Bearer " + token + "x"}, 401, "BOTMESH_ADMIN_TOKEN"},
		{"another scheme", toChat, `{"text":"x"}`, []string{"Authorization", "Basic " + token}, 401, "BOTMESH_ADMIN_TOKEN"},
		{"not a chat", "/v1/chats/telegram/send", `{"text":"x"}`, nil, 400, "chat"},
		{"unknown account", "/v1/chats/slack%2F1/send", `{"text":"x"}`, nil, 404, "telegram"},
		{"not JSON", toChat, `text`, nil, 400, "text"},
		{"empty", toChat, ``, nil, 400, "text"},
		{"no text", toChat, `{}`, nil, 400, "empty"},
		{"a file that can not be sent", toChat, `{"media":{"kind":"image","url":"file:///etc/passwd"}}`, nil, 400, "http"},
		{"text and Markdown", toChat, `{"text":"x","markdown":"y"}`, nil, 400, "either"},
		{"spans and Markdown", toChat, `{"markdown":"y","spans":[{"to":1,"style":"bold"}]}`, nil, 400, "either"},
		{"Markdown of nothing", toChat, `{"markdown":" "}`, nil, 400, "empty"},
		{"unknown field", toChat, `{"text":"x","txt":"y"}`, nil, 400, "txt"},
		{"two messages", toChat, `{"text":"x"}{"text":"y"}`, nil, 400, "one message"},
		{"too long", toChat, `{"text":"` + strings.Repeat("x", 200<<10) + `"}`, nil, 413, "too large"},
		{"long key", toChat, `{"text":"x"}`, []string{"Idempotency-Key", strings.Repeat("k", 300)}, 400, "256"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j := &fakeJournal{}
			w, _ := post(t, newAPI(t, j), c.path, c.body, c.header...)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) || len(j.records) > 0 {
				t.Errorf("got %d %s and %d records, want %d with %q and none", w.Code, w.Body, len(j.records), c.status, c.says)
			}
		})
	}
}

func TestSendThatIsNotStoredIsToBeRepeated(t *testing.T) {
	t.Parallel()
	for _, err := range []error{botmesh.ErrRefused, fmt.Errorf("x: %w", botmesh.ErrUnknown)} {
		w, _ := post(t, newAPI(t, &fakeJournal{err: err}), toChat, `{"text":"x"}`)
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" {
			t.Errorf("%v: got %d with Retry-After %q, want 503 with 1", err, w.Code, w.Header().Get("Retry-After"))
		}
	}
}

func TestNewSaysAllThatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := admin.New(admin.Config{Token: "short"})
	for _, want := range []string{"Token", "Journal"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s named", err, want)
		}
	}
}

func ExampleNew() {
	api, err := admin.New(admin.Config{Token: "keep this one secret", Journal: &fakeJournal{}, Providers: []string{"telegram"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := httptest.NewRequest(http.MethodPost, "/v1/chats/telegram%2F42/send", strings.NewReader(`{"text": "Your order is ready."}`))
	r.Header.Set("Authorization", "Bearer keep this one secret")
	r.Header.Set("Idempotency-Key", "order-7-ready")
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Body)
	// Output: 202 {"seq":1}
}
