package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/flow/flowtest"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/worker"
)

// A model that answers differently each time, and is down when it is asked third.
func TestAModelIsAskedOnceForEachAnswer(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var lines []line
		if err := json.NewDecoder(r.Body).Decode(&lines); err != nil || r.Header.Get("Idempotency-Key") == "" {
			t.Errorf("asked with key %q and %v, %v", r.Header.Get("Idempotency-Key"), lines, err)
		}
		n := asked.Add(1)
		if n == 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		event(w, fmt.Sprintf("answer %d ", n))
		event(w, fmt.Sprintf("to %d lines", len(lines)))
		fmt.Fprintf(w, "data: %s\n\n", done)
	}))
	t.Cleanup(server.Close)
	p := flowtest.Play(t, model(server.URL))
	p.User("hello").Bot("answer 1 to 1 lines")
	p.CrashOn("and?").Bot("answer 2 to 3 lines").HandOver(model(server.URL))
	p.Flaky("still there?", 1).Bot("answer 4 to 5 lines")
	p.User("/forget").Bot("forgotten").User("hello").Bot("answer 5 to 1 lines")
	if n := asked.Load(); n != 5 {
		t.Errorf("the model was asked %d times, want 5", n)
	}
}

// event writes more of an answer.
func event(w http.ResponseWriter, text string) {
	data, _ := json.Marshal(line{"bot", text})
	fmt.Fprintf(w, "data: %s\n\n", data)
	w.(http.Flusher).Flush()
}

// screen is a platform that can change what it shows.
type screen struct{ shown chan string }

func (*screen) ID() string                          { return "screen" }
func (*screen) Split(s botmesh.Send) []botmesh.Send { return []botmesh.Send{s} }

func (s *screen) Call(_ context.Context, c provider.Call) (provider.Sent, error) {
	s.shown <- "new: " + c.Send.Text
	return provider.Sent{MessageID: "1"}, nil
}

func (s *screen) Edit(_ context.Context, c provider.Call, _ string) error {
	s.shown <- c.Send.Text
	return nil
}

// The answer grows before the user's eyes, as the model goes on only when its last words were
// seen. What the user says meanwhile ends it, and is answered together with what was asked.
func TestAnAnswerGrowsAndGivesWay(t *testing.T) {
	t.Parallel()
	s := &screen{shown: make(chan string, 100)}
	sees := func(want string) {
		t.Helper()
		select {
		case got := <-s.shown:
			if got != want {
				t.Errorf("got %q on the screen, want %q", got, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("got nothing on the screen for half a minute, want %q", want)
		}
	}
	goOn := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var lines []line
		if err := json.NewDecoder(r.Body).Decode(&lines); err != nil {
			t.Error(err)
		}
		for _, word := range []string{"Once", " upon", fmt.Sprintf(" %d lines", len(lines))} {
			event(w, word)
			select {
			case <-goOn:
			case <-r.Context().Done():
				return
			}
		}
		fmt.Fprintf(w, "data: %s\n\n", done)
	}))
	t.Cleanup(server.Close)
	l, err := worker.NewLocal(worker.LocalConfig{Bot: model(server.URL), Senders: []provider.Sender{s}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- l.Run(ctx) }()
	says := func(text string) {
		t.Helper()
		r := botmesh.Record{
			Type: botmesh.TypeMessage, ID: text, Chat: botmesh.ChatKey{Provider: "screen", Chat: "1"}, Message: botmesh.Message{Text: text},
		}
		if err := l.Receive(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	says("tell me a story")
	sees("new: …")
	sees("Once")
	goOn <- struct{}{}
	sees("Once upon")
	says("a short one")
	sees("Once") // of the next answer, in the same message
	goOn <- struct{}{}
	sees("Once upon")
	goOn <- struct{}{}
	sees("Once upon 2 lines")
	goOn <- struct{}{}
	sees("Once upon 2 lines") // as it is kept
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
