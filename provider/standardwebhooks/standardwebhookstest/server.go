// Package standardwebhookstest is a backend to test against: it takes what the bot
// sends, knows a repeated message, refuses what is not signed, and meets faults on
// order.
package standardwebhookstest

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider/fakeplatform"
	"github.com/botmesh-go/botmesh/provider/standardwebhooks"
)

// Server is a backend. It is an http.Handler at every path, safe for concurrent
// use.
type Server struct {
	*fakeplatform.Platform
	secrets string

	mu   sync.Mutex
	seen map[string]bool // by webhook-id
}

// New makes a backend that knows these secrets.
func New(secrets string) *Server {
	return &Server{
		Platform: fakeplatform.New(fakeplatform.Fault{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"1"}}}),
		secrets:  secrets, seen: map[string]bool{},
	}
}

// outgoing is a message of the bot.
type outgoing struct {
	Type string `json:"type"`
	Data struct {
		Conversation string         `json:"conversation"`
		Participant  string         `json:"participant"`
		ID           string         `json:"id"`
		Text         string         `json:"text"`
		Spans        []botmesh.Span `json:"spans"`
		Media        struct {
			Kind string `json:"kind"`
			URL  string `json:"url"`
			Ref  string `json:"ref"`
			Name string `json:"name"`
		} `json:"media"`
		Buttons [][]struct {
			Label   string `json:"label"`
			Payload string `json:"payload"`
		} `json:"buttons"`
	} `json:"data"`
}

// spansFit reports whether all spans are stretches of the text in styles that there are.
func (o *outgoing) spansFit() bool {
	return botmesh.Send{Text: o.Data.Text, Spans: o.Data.Spans}.Validate() == nil
}

// ServeHTTP takes a message.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	receiver, err := standardwebhooks.NewReceiver(standardwebhooks.ReceiverConfig{Secret: s.secrets})
	if err != nil || receiver.Verify(r.Header, body) != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var out outgoing
	if json.Unmarshal(body, &out) != nil || out.Type != "message.send" || out.Data.Conversation == "" || len(body) > 64<<10 || !out.spansFit() {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	id := r.Header.Get(standardwebhooks.IDHeader)
	s.mu.Lock()
	again := s.seen[id]
	s.mu.Unlock()
	if again {
		return // taken before: a success
	}
	m := fakeplatform.Message{Chat: out.Data.Conversation, Text: out.Data.Text, Media: fakeplatform.Media(out.Data.Media), Part: out.Data.ID}
	if out.Data.Participant != "" {
		m.Chat += "/" + out.Data.Participant
	}
	for _, b := range slices.Concat(out.Data.Buttons...) {
		m.Buttons = append(m.Buttons, fakeplatform.Button(b))
	}
	s.Serve(w, r, fakeplatform.Call{
		Message: m,
		ID: func(int) string {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.seen[id] = true
			return id
		},
		Answer: func(w http.ResponseWriter, _ fakeplatform.Message) { w.WriteHeader(http.StatusNoContent) },
	})
}

// Event is the body of a webhook of that type with these fields in data.
func Event(typ string, data map[string]any) []byte {
	body, err := json.Marshal(map[string]any{"type": typ, "timestamp": time.Unix(1796000000, 0).UTC(), "data": data})
	if err != nil {
		panic(err) // only strings are in it
	}
	return body
}

// Text is the body of the webhook for a text that a user wrote in a conversation.
func Text(conversation, user, id, text string) []byte {
	return Event("message.created", map[string]any{"conversation": conversation, "user": user, "id": id, "text": text})
}
