package providertest

import (
	"bytes"
	"cmp"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/ingress"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/provider"
)

// house is an ingress with one receiver and a journal in memory.
type house struct {
	receiver provider.Receiver
	ingress  http.Handler
	journal  *journal.Journal
}

func open(t *testing.T, r provider.Receiver) *house {
	t.Helper()
	server := jet.NewMemory()
	t.Cleanup(server.Close)
	j, err := journal.Open(t.Context(), journal.Config{
		Bot:   "suite",
		Inbox: server.Stream(journal.InboxStream("suite"), jet.MemoryConfig{Metadata: map[string]string{"botmesh.epoch": "e1"}}),
		Dead:  server.Stream(journal.DeadStream("suite"), jet.MemoryConfig{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	h, err := ingress.New(ingress.Config{Journal: j.Publisher, Receivers: []provider.Receiver{r}})
	if err != nil {
		t.Fatal(err)
	}
	return &house{receiver: r, ingress: h, journal: j}
}

// post delivers a webhook and returns the status of the answer.
func (h *house) post(t *testing.T, header http.Header, body []byte) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/webhooks/"+h.receiver.ID(), bytes.NewReader(body))
	if header != nil {
		r.Header = header.Clone()
	}
	if host := header.Get("Host"); host != "" {
		r.Host = host
	}
	w := httptest.NewRecorder()
	h.ingress.ServeHTTP(w, r)
	return w.Code
}

// accepted delivers a sample that is to be answered with 200.
func (h *house) accepted(t *testing.T, s Sample) {
	t.Helper()
	if got := h.post(t, s.Header, s.Body); got != http.StatusOK {
		t.Errorf("%s: got %d, want 200", s.Name, got)
	}
}

// refused delivers what is to be answered with 401.
func (h *house) refused(t *testing.T, header http.Header, body []byte, what string) {
	t.Helper()
	if got := h.post(t, header, body); got != http.StatusUnauthorized {
		t.Errorf("%s: got %d, want 401", what, got)
	}
}

// records are all that is journaled: what users did before statuses, each in the
// journal's order.
func (h *house) records(t *testing.T) []botmesh.Record {
	t.Helper()
	var all []botmesh.Record
	for _, statuses := range []bool{false, true} {
		entries, err := h.journal.List(t.Context(), journal.Filter{Limit: journal.MaxList, Statuses: statuses})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Err != nil {
				t.Fatal(e.Err)
			}
			all = append(all, e.Record)
		}
	}
	return all
}

// inChats sorts records by their chat. Only those of one chat have an order, and
// statuses one of their own.
func inChats(recs []botmesh.Record) []botmesh.Record {
	return slices.SortedStableFunc(slices.Values(recs), func(a, b botmesh.Record) int {
		return cmp.Or(cmp.Compare(a.Chat.Key(), b.Chat.Key()), cmp.Compare(side(a), side(b)))
	})
}

func side(r botmesh.Record) string {
	if r.Type == botmesh.TypeStatus {
		return "status"
	}
	return ""
}

// holds compares what is journaled with what should be.
func (h *house) holds(t *testing.T, what string, want []botmesh.Record) {
	t.Helper()
	if diff := gocmp.Diff(inChats(want), inChats(h.records(t)), cmpopts.EquateEmpty(),
		cmpopts.IgnoreFields(botmesh.Record{}, "Raw", "Epoch", "Seq", "Stored", "Trace")); diff != "" {
		t.Errorf("%s: journaled (-want +got):\n%s", what, diff)
	}
}

// journals delivers a sample twice: all its records are journaled, once and in order.
func (s Sample) journals(t *testing.T, r provider.Receiver) {
	t.Helper()
	h := open(t, r)
	h.accepted(t, s)
	h.holds(t, "delivered once", s.Want)
	h.accepted(t, s)
	h.holds(t, "delivered again", s.Want)
}

// Unknown checks that the samples, each of a kind that r does not know, are kept as
// events and answered 200: a refusal would be repeated, with the chat held up behind it.
func Unknown(t *testing.T, r provider.Receiver, samples ...Sample) {
	t.Helper()
	quiet(t, r, samples, true)
}

// Own checks that the samples, which tell of what the bot itself or its business wrote,
// are answered 200 and start no turn.
func Own(t *testing.T, r provider.Receiver, samples ...Sample) {
	t.Helper()
	quiet(t, r, samples, false)
}

// quiet delivers what is nobody's word to the bot. Want of the samples is not looked at.
func quiet(t *testing.T, r provider.Receiver, samples []Sample, kept bool) {
	t.Helper()
	if len(samples) == 0 {
		t.Error("got no samples, want some")
	}
	for _, s := range samples {
		h := open(t, r)
		h.accepted(t, s)
		got := h.records(t)
		if kept && len(got) == 0 {
			t.Errorf("%s: got nothing journaled, want an event", s.Name)
		}
		for _, rec := range got {
			if rec.Type == botmesh.TypeMessage || rec.Type == botmesh.TypeCallback || kept && rec.Type != botmesh.TypeEvent {
				t.Errorf("%s: got a record of type %q, want none that starts a turn", s.Name, rec.Type)
			}
		}
	}
}

// Batch is what a platform posts several items in.
type Batch struct {
	// Post makes a signed webhook of some of the items, by their place in Want.
	Post func(items ...int) (http.Header, []byte)
	// Want is what each item becomes. At least one should be broken, and become an
	// event or nothing, between others that are not.
	Want [][]botmesh.Record
}

// Batches checks that a batch is journaled item by item, whatever one of them is; that
// a batch that is repeated doubles none; and that the platform may group the items anew
// when it repeats them.
func Batches(t *testing.T, r provider.Receiver, b Batch) {
	t.Helper()
	if len(b.Want) < 3 {
		t.Fatalf("got %d items, want three or more", len(b.Want))
	}
	all := make([]int, len(b.Want))
	for i := range all {
		all[i] = i
	}
	reversed := slices.Clone(all)
	slices.Reverse(reversed)
	h := open(t, r)
	deliver := func(items ...int) {
		t.Helper()
		header, body := b.Post(items...)
		h.accepted(t, Sample{Name: "batch", Header: header, Body: body})
	}
	half := len(all) / 2
	deliver(all[:half]...)
	h.holds(t, "the first half", slices.Concat(b.Want[:half]...))
	for range 2 {
		deliver(all...)
		h.holds(t, "all, some of them again", slices.Concat(b.Want...))
	}
	deliver(reversed...)
	for _, item := range all {
		deliver(item)
	}
	h.holds(t, "grouped anew", slices.Concat(b.Want...))
}
