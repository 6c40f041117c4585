package webchat

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"

	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
)

// page is a browser's side of one stream.
type page struct {
	t     *testing.T
	resp  *http.Response
	lines *bufio.Scanner
	close context.CancelFunc
}

// openPage opens a stream at a server; the header may hold Last-Event-ID.
func openPage(t *testing.T, c *Chat, base, chat, query, lastEventID string) *page {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/webchat/events?chat="+chat+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Cookie", pageHeader(c, chat).Get("Cookie"))
	if lastEventID != "" {
		r.Header.Set("Last-Event-ID", lastEventID)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return &page{t: t, resp: resp, lines: bufio.NewScanner(resp.Body), close: cancel}
}

// read returns the next n events as "<id> <text>".
func (p *page) read(n int) []string {
	p.t.Helper()
	var got []string
	var id string
	for len(got) < n && p.lines.Scan() {
		name, value, _ := strings.Cut(p.lines.Text(), ": ")
		switch name {
		case "id":
			id = value
		case "data":
			var e event
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				p.t.Fatal(err)
			}
			got = append(got, id+" "+e.Parts[0].Text)
		}
	}
	if len(got) < n {
		p.t.Fatalf("got the stream's end after %q, want %d events", got, n)
	}
	return got
}

func serve(t *testing.T, c *Chat) string {
	t.Helper()
	srv := httptest.NewServer(c)
	t.Cleanup(srv.Close)
	t.Cleanup(c.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return srv.URL
}

func TestStreamResumes(t *testing.T) {
	t.Parallel()
	letters := newLetters("one", "two\nlines", "three")
	c := newTestChat(t, Config{Letters: letters})
	base := serve(t, c)

	first := openPage(t, c, base, "CHATONE", "", "")
	if got := first.resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("got type %q, want an event stream", got)
	}
	if diff := cmp.Diff([]string{"10 one", "20 two\nlines", "30 three"}, first.read(3)); diff != "" {
		t.Errorf("from the beginning (-want +got):\n%s", diff)
	}
	letters.add("four")
	if diff := cmp.Diff([]string{"40 four"}, first.read(1)); diff != "" {
		t.Errorf("live (-want +got):\n%s", diff)
	}
	first.close()

	letters.add("five")
	// The browser comes back by itself: its header counts, not the address.
	back := openPage(t, c, base, "CHATONE", "&after=10", "40")
	if diff := cmp.Diff([]string{"50 five"}, back.read(1)); diff != "" {
		t.Errorf("after the last event (-want +got):\n%s", diff)
	}
	// The page opens a stream anew.
	anew := openPage(t, c, base, "CHATONE", "&after=30", "")
	if diff := cmp.Diff([]string{"40 four", "50 five"}, anew.read(2)); diff != "" {
		t.Errorf("opened anew (-want +got):\n%s", diff)
	}
}

func TestStreamEndsWithThePage(t *testing.T) {
	t.Parallel()
	letters := newLetters("one")
	c := newTestChat(t, Config{Letters: letters, MaxStreams: 1})
	base := serve(t, c)
	p := openPage(t, c, base, "CHATONE", "", "")
	p.read(1)
	if other := openPage(t, c, base, "CHATTWO", "", ""); other.resp.StatusCode != http.StatusServiceUnavailable || other.resp.Header.Get("Retry-After") == "" {
		t.Errorf("got %d for one page too many, want 503 with Retry-After", other.resp.StatusCode)
	}
	p.close()
	for deadline := time.Now().Add(10 * time.Second); letters.count() > 0; {
		if time.Now().After(deadline) {
			t.Fatal("got a follower without a page, want none")
		}
		<-time.After(time.Millisecond)
	}
}

// A page that takes no more, though its connection still stands, ends its stream,
// and following ends before the handler does.
func TestStreamEndsWhenWritingFails(t *testing.T) {
	t.Parallel()
	for range 20 {
		letters := newLetters("one", "two")
		c := newTestChat(t, Config{Letters: letters})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/webchat/events?chat=CHATONE", nil)
		r.Header = pageHeader(c, "CHATONE")
		c.ServeHTTP(&fullWriter{ResponseRecorder: httptest.NewRecorder(), room: 40}, r)
		if n := letters.count(); n != 0 {
			t.Fatalf("got %d followers after the handler, want none", n)
		}
	}
}

// fullWriter takes room bytes.
type fullWriter struct {
	*httptest.ResponseRecorder
	room int
}

func (w *fullWriter) WriteString(s string) (int, error) {
	if w.room -= len(s); w.room < 0 {
		return 0, errors.New("full")
	}
	return len(s), nil
}

func TestStreamsOfOneSessionAreBounded(t *testing.T) {
	t.Parallel()
	c := newTestChat(t, Config{})
	for range maxChatStreams {
		if !c.enter("CHATONE") {
			t.Fatal("got no room, want it")
		}
	}
	if c.enter("CHATONE") {
		t.Error("got room for one page too many, want none")
	}
	if !c.enter("CHATTWO") {
		t.Error("got no room for another session, want it")
	}
	c.leave("CHATTWO")
	for range maxChatStreams {
		c.leave("CHATONE")
	}
	if c.open != 0 || len(c.streams) != 0 {
		t.Errorf("got %d open and %v, want nothing left", c.open, c.streams)
	}
}

func TestCloseEndsStreams(t *testing.T) {
	t.Parallel()
	letters := newLetters("one")
	c := newTestChat(t, Config{Letters: letters})
	base := serve(t, c)
	p := openPage(t, c, base, "CHATONE", "", "")
	p.read(1)
	c.Close()
	if n := letters.count(); n != 0 {
		t.Errorf("got %d followers after Close, want none", n)
	}
	for p.lines.Scan() {
	}
	if err := p.lines.Err(); err != nil {
		t.Errorf("got %v, want the stream's end", err)
	}
	if later := openPage(t, c, base, "CHATONE", "", ""); later.resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("got %d after Close, want 503", later.resp.StatusCode)
	}
}

// SPEC: X1
func TestStreamRefusals(t *testing.T) {
	t.Parallel()
	c := newTestChat(t, Config{})
	own := pageHeader(c, "CHATONE")
	forged := own.Clone()
	forged.Set("Cookie", strings.Replace(own.Get("Cookie"), "CHATONE", "CHATTWO", 1))
	for name, x := range map[string]struct {
		target string
		h      http.Header
		status int
	}{
		"NoSession":     {"/webchat/events?chat=CHATONE", nil, 401},
		"Forged":        {"/webchat/events?chat=CHATTWO", forged, 401},
		"OtherChat":     {"/webchat/events?chat=CHATTWO", own, 401},
		"NoChat":        {"/webchat/events", own, 401},
		"StrangeNumber": {"/webchat/events?chat=CHATONE&after=-1", own, 400},
	} {
		if w := get(t, c, x.target, x.h); w.Code != x.status {
			t.Errorf("%s: got %d %q, want %d", name, w.Code, w.Body, x.status)
		}
	}
}

func TestStreamBeatsAndAges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTestChat(t, Config{})
		start := time.Now()
		w := get(t, c, "/webchat/events?chat=CHATONE", pageHeader(c, "CHATONE"))
		if took := time.Since(start); took != streamAge {
			t.Errorf("got a stream of %v, want %v", took, streamAge)
		}
		// The last beat and the end come at the same time.
		if n := strings.Count(w.Body.String(), ": still here\n\n"); n != int(streamAge/heartbeat) && n != int(streamAge/heartbeat)-1 {
			t.Errorf("got %d beats, want one in %v", n, heartbeat)
		}
		c.Close()
	})
}

func TestFailedFollowingEndsTheStreamAndIsLogged(t *testing.T) {
	t.Parallel()
	letters := newLetters()
	letters.fail = errors.New("no outbox")
	var told strings.Builder
	c := newTestChat(t, Config{Letters: letters, Logger: slog.New(slog.NewTextHandler(&told, nil))})
	w := get(t, c, "/webchat/events?chat=CHATONE", pageHeader(c, "CHATONE"))
	if w.Code != 200 || w.Body.String() != "retry: 2000\n\n" {
		t.Errorf("got %d %q, want a stream that ends at once and is come back to", w.Code, w.Body)
	}
	if !strings.Contains(told.String(), "no outbox") {
		t.Errorf("got the log %q, want the reason", told.String())
	}
}

func TestEventOffersSignedButtons(t *testing.T) {
	t.Parallel()
	c := newTestChat(t, Config{})
	e := c.event(botmesh.Letter{
		Chat:  botmesh.ChatKey{Provider: ID, Chat: "CHATONE"},
		Parts: []botmesh.Part{{ID: "p1", Send: botmesh.Send{Text: "</script>", Buttons: [][]botmesh.Button{{{Label: "Yes", Payload: "y"}}}}}},
		Trace: map[string]string{"traceparent": "private"},
	})
	b := e.Parts[0].Buttons[0][0]
	recs, err := c.Parse(pageHeader(c, "CHATONE"), formBody("chat", "CHATONE", "id", "0123-abc", "payload", b.Payload, "sig", b.Sig, "of", e.Parts[0].ID))
	if err != nil || recs[0].Message.Payload != "y" || recs[0].Message.Of != "p1" {
		t.Errorf("got %+v, %v, want the offered button taken", recs, err)
	}
	data, err := json.Marshal(e)
	if err != nil || strings.Contains(string(data), "private") || strings.ContainsAny(string(data), "\n\r") {
		t.Errorf("got %s, %v, want one line without the trace", data, err)
	}
}

// A file is told by an address that a browser may open, and by no other.
//
// SPEC: X1
func TestEventTellsFiles(t *testing.T) {
	t.Parallel()
	c := newTestChat(t, Config{})
	sender, err := NewSender("")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		m     botmesh.Media
		taken bool
		want  string
	}{
		{botmesh.Media{Kind: botmesh.MediaImage, URL: "https://example.org/a?b", Name: "a.png"}, true, `{"kind":"image","url":"https://example.org/a?b","name":"a.png"}`},
		{botmesh.Media{Kind: botmesh.MediaImage, Ref: "f"}, false, "null"},
		{botmesh.Media{Kind: botmesh.MediaImage, URL: "javascript:alert(1)//example.org"}, true, "null"},
	} {
		parts := sender.Split(botmesh.Send{Text: "hi", Media: &tt.m})
		e := c.event(botmesh.Letter{Parts: []botmesh.Part{{ID: "p", Send: parts[0]}}})
		got, err := json.Marshal(e.Parts[0].Media)
		if err != nil || string(got) != tt.want || sender.Attaches(tt.m) != tt.taken {
			t.Errorf("%+v: got %s, taken %v, want %s and %v", tt.m, got, sender.Attaches(tt.m), tt.want, tt.taken)
		}
	}
}

// What replaces a message is shown in its place, be it one of the same record or an earlier
// one, whose id is that of its part.
func TestAnEventSaysWhatItReplaces(t *testing.T) {
	t.Parallel()
	c := newTestChat(t, Config{})
	l := botmesh.Letter{ID: "l", Parts: []botmesh.Part{{ID: "l/0.0", Send: botmesh.Send{Replaces: 1}}, {ID: "l/1.0", Send: botmesh.Send{Edits: "k/0.0"}}, {ID: "l/2.0"}}}
	var got []string
	for _, p := range c.event(l).Parts {
		got = append(got, p.Replaces)
	}
	if diff := cmp.Diff([]string{"l/e0.0", "k/0.0", ""}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
