// Package telegramtest is a Telegram to test and measure against: the little of
// the Bot API that a bot calls, with a log of what it took, the refusals of the
// real one, and faults on order. Its webhooks are in updates.go, what it gives to
// those that poll in polling.go.
package telegramtest

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Message is a message that the server took.
type Message struct {
	ID int64
	// Chat is the address as a chat key has it: "<chat>", "<chat>/<topic>" or
	// "biz:<connection>:<chat>".
	Chat    string
	Text    string // or caption
	Media   Media
	Buttons [][]Button
	At      time.Time
	// Call numbers the calls of the server from 1, those that were refused included.
	Call int64
	// Was are the texts that it had before it was edited, in order.
	Was []string
}

// Button is a button below a message.
type Button struct {
	Label   string `json:"text"`
	Payload string `json:"callback_data"`
}

// Fault is what one call meets instead of success.
type Fault struct {
	// Status is the answer's, with Telegram's words for it; zero for success.
	Status int
	// RetryAfter is told with the answer, in whole seconds, if not zero.
	RetryAfter time.Duration
	// MigrateTo is told with the answer, if not zero.
	MigrateTo int64
	// Take says that the message is taken all the same before the answer.
	Take bool
	// Hang says that no answer comes before the caller goes away.
	Hang bool
	// Delay is waited before the message is taken or the call answered.
	Delay time.Duration
}

// Server is a Telegram with one bot. It is an http.Handler, safe for concurrent
// use. The zero value is not usable: [New].
type Server struct {
	prefix string

	mu      sync.Mutex
	calls   int64
	lastID  int64
	log     []Message
	chats   map[string][]Message
	faults  map[string][]Fault
	pressed []string
	typing  []string // chats
	script  func(chat, text string) Fault
	onTake  func(Message)
	changed chan struct{} // closed and replaced when a message is taken
	polling polling
	files   map[string][]byte // by their ids
}

// New makes a server for the bot with that token.
func New(token string) *Server {
	return &Server{
		prefix:  "/bot" + token + "/",
		chats:   map[string][]Message{},
		faults:  map[string][]Fault{},
		changed: make(chan struct{}),
		polling: polling{grown: make(chan struct{})},
		files:   map[string][]byte{},
	}
}

// Next has the next calls to a chat meet these faults, one each, after those
// ordered before. An empty chat stands for every chat that has none of its own.
func (s *Server) Next(chat string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[chat] = append(s.faults[chat], faults...)
}

// Script has f decide about each call that meets no fault of [Server.Next]. It is
// called for one call at a time and must not call the server; nil ends it.
func (s *Server) Script(f func(chat, text string) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = f
}

// OnTake has f told each message as it is taken, one at a time and in order. It
// must not call the server; nil ends it.
func (s *Server) OnTake(f func(Message)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onTake = f
}

// Chat returns the messages that a chat was sent, in order.
func (s *Server) Chat(chat string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Message(nil), s.chats[chat]...)
}

// Texts returns the texts that a chat was sent, in order.
func (s *Server) Texts(chat string) []string {
	var texts []string
	for _, m := range s.Chat(chat) {
		texts = append(texts, m.Text)
	}
	return texts
}

// All returns every message that was taken, in order.
func (s *Server) All() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Message(nil), s.log...)
}

// Calls counts the calls of sendMessage, those that were refused included.
func (s *Server) Calls() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
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

// Wait waits until a chat has n messages, and returns what it has. The error is
// the context's.
func (s *Server) Wait(ctx context.Context, chat string, n int) ([]Message, error) {
	for {
		s.mu.Lock()
		changed, have := s.changed, len(s.chats[chat])
		s.mu.Unlock()
		if have >= n {
			return s.Chat(chat), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return s.Chat(chat), ctx.Err()
		}
	}
}

// ServeHTTP is the Bot API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if path, ok := strings.CutPrefix(r.URL.Path, "/file"+s.prefix); ok {
		s.serveFile(w, path)
		return
	}
	method, ok := strings.CutPrefix(r.URL.Path, s.prefix)
	if !ok {
		if strings.HasPrefix(r.URL.Path, "/bot") {
			refuse(w, Fault{Status: http.StatusUnauthorized}, "")
			return
		}
		refuse(w, Fault{Status: http.StatusNotFound}, "")
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	switch method {
	case "sendMessage", "sendPhoto", "sendVideo", "sendAudio", "sendVoice", "sendDocument", "sendSticker":
		s.sendMessage(w, r, body, s.takeBy(method))
	case "editMessageText":
		s.sendMessage(w, r, body, s.edit)
	case "answerCallbackQuery":
		s.answerCallbackQuery(w, body)
	case "getFile":
		s.getFile(w, body)
	case "getUpdates":
		s.getUpdates(w, r, body)
	case "setWebhook":
		s.setWebhook(w, body)
	case "deleteWebhook":
		s.setWebhook(w, nil)
	case "sendChatAction":
		s.sendChatAction(w, body)
	case "getMe":
		io.WriteString(w, `{"ok":true,"result":{"id":7000000001,"is_bot":true,"first_name":"Demo","username":"demo_bot"}}`)
	default:
		refuse(w, Fault{Status: http.StatusNotFound}, "")
	}
}

type outgoing struct {
	Business string `json:"business_connection_id"`
	ChatID   int64  `json:"chat_id"`
	Message  int64  `json:"message_id"`
	Topic    int64  `json:"message_thread_id"`
	Text     string `json:"text"`
	Action   string `json:"action"`
	Caption  string `json:"caption"`
	files
	Markup struct {
		Keyboard [][]Button `json:"inline_keyboard"`
	} `json:"reply_markup"`
}

func (o *outgoing) chat() string {
	n := strconv.FormatInt(o.ChatID, 10)
	switch {
	case o.Business != "":
		return "biz:" + o.Business + ":" + n
	case o.Topic != 0:
		return n + "/" + strconv.FormatInt(o.Topic, 10)
	}
	return n
}

// fault is what Telegram says against o, in its words; empty for nothing.
func (o *outgoing) fault() string {
	switch {
	case o.ChatID == 0:
		return "chat_id is empty"
	case strings.TrimSpace(o.Text) == "" && o.files == (files{}):
		return "message text is empty"
	case !utf8.ValidString(o.Text):
		return "strings must be encoded in UTF-8"
	case units(o.Text) > 4096:
		return "message is too long"
	case units(o.Caption) > 1024:
		return "message caption is too long"
	}
	for _, row := range o.Markup.Keyboard {
		for _, b := range row {
			switch {
			case strings.TrimSpace(b.Label) == "":
				return "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"
			case b.Payload == "" || len(b.Payload) > 64:
				return "BUTTON_DATA_INVALID"
			}
		}
	}
	return ""
}

// sendMessage does what take does with a message, which returns its number or what Telegram
// has against it.
func (s *Server) sendMessage(w http.ResponseWriter, r *http.Request, body []byte, take func(*outgoing, int64) (int64, string)) {
	var o outgoing
	if err := json.Unmarshal(body, &o); err != nil {
		refuse(w, Fault{Status: http.StatusBadRequest}, "can't parse the request")
		return
	}
	call, f := s.nextFault(&o)
	if f.Delay > 0 && !wait(r.Context(), f.Delay) {
		return
	}
	if why := o.fault(); why != "" && f.Status == 0 {
		refuse(w, Fault{Status: http.StatusBadRequest}, why)
		return
	}
	var n int64
	if f.Take || f.Status == 0 {
		var why string
		if n, why = take(&o, call); why != "" {
			refuse(w, Fault{Status: http.StatusBadRequest}, why)
			return
		}
	}
	switch {
	case f.Hang:
		<-r.Context().Done()
	case f.Status != 0:
		refuse(w, f, "")
	default:
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"ok":true,"result":{"message_id":`+strconv.FormatInt(n, 10)+
			`,"date":`+strconv.FormatInt(time.Now().Unix(), 10)+`,"chat":{"id":`+strconv.FormatInt(o.ChatID, 10)+`}}}`)
	}
}

// nextFault numbers the call and takes the fault that it meets.
func (s *Server) nextFault(o *outgoing) (int64, Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	chat := o.chat()
	for _, name := range []string{chat, ""} {
		if q := s.faults[name]; len(q) > 0 {
			s.faults[name] = q[1:]
			return s.calls, q[0]
		}
	}
	if s.script != nil {
		return s.calls, s.script(chat, o.Text+o.Caption)
	}
	return s.calls, Fault{}
}

func (s *Server) answerCallbackQuery(w http.ResponseWriter, body []byte) {
	var q struct {
		ID string `json:"callback_query_id"`
	}
	if err := json.Unmarshal(body, &q); err != nil || q.ID == "" {
		refuse(w, Fault{Status: http.StatusBadRequest}, "query is too old or its ID is invalid")
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
		refuse(w, Fault{Status: http.StatusBadRequest}, "wrong parameter action in request")
		return
	}
	s.mu.Lock()
	s.typing = append(s.typing, o.chat())
	s.mu.Unlock()
	io.WriteString(w, `{"ok":true,"result":true}`)
}

// refuse answers as Telegram does when it says no, with the reason if there is one.
func refuse(w http.ResponseWriter, f Fault, why string) {
	type parameters struct {
		RetryAfter int64 `json:"retry_after,omitempty"`
		MigrateTo  int64 `json:"migrate_to_chat_id,omitempty"`
	}
	p := parameters{int64(f.RetryAfter / time.Second), f.MigrateTo}
	text := cmp.Or(http.StatusText(f.Status), "Unknown")
	if why != "" {
		text += ": " + why
	}
	a := struct {
		OK          bool        `json:"ok"`
		Code        int         `json:"error_code"`
		Description string      `json:"description"`
		Parameters  *parameters `json:"parameters,omitempty"`
	}{Code: f.Status, Description: text}
	if p != (parameters{}) {
		a.Parameters = &p
	}
	w.Header().Set("Content-Type", "application/json")
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(p.RetryAfter, 10))
	}
	w.WriteHeader(f.Status)
	json.NewEncoder(w).Encode(a)
}

func units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
