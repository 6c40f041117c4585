// Package telegramtest is a Telegram to test and measure against: the little of
// the Bot API that a bot calls, with a log of what it took, the refusals of the
// real one, and faults on order. Its webhooks are in updates.go, what it gives to
// those that poll in polling.go.
package telegramtest

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh/provider/fakeplatform"
)

// Refusal is the answer by which Telegram refuses a call, in its words for the status, and
// why if there is a reason.
func Refusal(status int, why string) fakeplatform.Fault { return refusal(status, why, parameters{}) }

// RateLimit is the answer to too many calls; after is in whole seconds.
func RateLimit(after time.Duration) fakeplatform.Fault {
	f := refusal(http.StatusTooManyRequests, "", parameters{RetryAfter: int64(after / time.Second)})
	f.Header = http.Header{"Retry-After": {strconv.FormatInt(int64(after/time.Second), 10)}}
	return f
}

// Migrated is the answer with that status to a call to a group that has become a
// supergroup, with another number.
func Migrated(status int, to int64) fakeplatform.Fault {
	return refusal(status, "", parameters{MigrateTo: to})
}

type parameters struct {
	RetryAfter int64 `json:"retry_after,omitempty"`
	MigrateTo  int64 `json:"migrate_to_chat_id,omitempty"`
}

func refusal(status int, why string, p parameters) fakeplatform.Fault {
	text := cmp.Or(http.StatusText(status), "Unknown")
	if why != "" {
		text += ": " + why
	}
	body, err := json.Marshal(struct {
		OK          bool       `json:"ok"`
		Code        int        `json:"error_code"`
		Description string     `json:"description"`
		Parameters  parameters `json:"parameters,omitzero"`
	}{Code: status, Description: text, Parameters: p})
	if err != nil {
		panic(err) // only strings and numbers are in it
	}
	return fakeplatform.Fault{Status: status, Body: string(body)}
}

// Server is a Telegram with one bot. It is an http.Handler, safe for concurrent
// use. The zero value is not usable: [New].
type Server struct {
	*fakeplatform.Platform
	prefix string

	mu      sync.Mutex
	pressed []string
	typing  []string // chats
	polling polling
	files   map[string][]byte // by their ids
}

// New makes a server for the bot with that token. It has no rate limit.
func New(token string) *Server {
	return &Server{
		Platform: fakeplatform.New(RateLimit(time.Second)),
		prefix:   "/bot" + token + "/",
		polling:  polling{grown: make(chan struct{})},
		files:    map[string][]byte{},
	}
}

// Answered returns the ids of the button presses that answerCallbackQuery named.
func (s *Server) Answered() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.pressed...)
}

// Typing returns the chats in which the bot was shown to type, in order.
func (s *Server) Typing() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.typing...)
}

// ServeHTTP is the Bot API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if path, ok := strings.CutPrefix(r.URL.Path, "/file"+s.prefix); ok {
		s.serveFile(w, path)
		return
	}
	method, ok := strings.CutPrefix(r.URL.Path, s.prefix)
	if !ok {
		status := http.StatusNotFound
		if strings.HasPrefix(r.URL.Path, "/bot") {
			status = http.StatusUnauthorized
		}
		Refusal(status, "").Answer(w)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	switch method {
	case "sendMessage", "editMessageText", "sendPhoto", "sendVideo", "sendAudio", "sendVoice", "sendDocument", "sendSticker":
		s.sendMessage(w, r, method, body)
	case "answerCallbackQuery":
		s.answerCallbackQuery(w, body)
	case "getFile":
		s.getFile(w, body)
	case "getUpdates":
		s.getUpdates(w, r, body)
	case "setWebhook":
		s.setWebhook(w, body)
	case "getWebhookInfo":
		s.getWebhookInfo(w)
	case "deleteWebhook":
		s.setWebhook(w, nil)
	case "sendChatAction":
		s.sendChatAction(w, body)
	case "getMe":
		io.WriteString(w, `{"ok":true,"result":{"id":7000000001,"is_bot":true,"first_name":"Demo","username":"demo_bot"}}`)
	default:
		Refusal(http.StatusNotFound, "").Answer(w)
	}
}

func badRequest(why string) fakeplatform.Fault { return Refusal(http.StatusBadRequest, why) }

func (s *Server) answerCallbackQuery(w http.ResponseWriter, body []byte) {
	var q struct {
		ID string `json:"callback_query_id"`
	}
	if err := json.Unmarshal(body, &q); err != nil || q.ID == "" {
		badRequest("query is too old or its ID is invalid").Answer(w)
		return
	}
	s.mu.Lock()
	s.pressed = append(s.pressed, q.ID)
	s.mu.Unlock()
	io.WriteString(w, `{"ok":true,"result":true}`)
}

func (s *Server) sendChatAction(w http.ResponseWriter, body []byte) {
	var o outgoing
	if err := json.Unmarshal(body, &o); err != nil || o.ChatID == 0 || o.Action != "typing" {
		badRequest("wrong parameter action in request").Answer(w)
		return
	}
	s.mu.Lock()
	s.typing = append(s.typing, o.chat())
	s.mu.Unlock()
	io.WriteString(w, `{"ok":true,"result":true}`)
}
