// Package whatsapptest is a WhatsApp Cloud API to test against: the one call that
// sends a message, with a log of what it took, the refusals of the real one, and
// faults on order. Its webhooks are in webhooks.go.
package whatsapptest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/botmesh-go/botmesh/provider/fakeplatform"
)

// Version is that of the API.
const Version = "v26.0"

// The faults of the platform that a test orders most.
var (
	PairRate    = Error(http.StatusBadRequest, 131056, "(#131056) Pair rate limit hit")
	Throughput  = Error(http.StatusBadRequest, 130429, "(#130429) Rate limit hit")
	Unavailable = Error(http.StatusInternalServerError, 131016, "(#131016) Service unavailable")
	OutOfWindow = Error(http.StatusBadRequest, 131047, "(#131047) Re-engagement message")
)

// Error is the answer of the Graph API with an error code.
func Error(status, code int, message string) fakeplatform.Fault {
	body, err := json.Marshal(map[string]any{"error": map[string]any{
		"message": message, "type": "OAuthException", "code": code, "fbtrace_id": "AbCdEfGhIjK",
	}})
	if err != nil {
		panic(err) // only strings and numbers are in it
	}
	return fakeplatform.Fault{Status: status, Body: string(body)}
}

// Server is the API with one number. It is an http.Handler, safe for concurrent
// use. Its messages have the chats of the number's own.
type Server struct {
	*fakeplatform.Platform
	token, number string
	files         files
	get           *http.ServeMux

	mu     sync.Mutex
	typing []string // messages
}

// New makes a server for the number of that id, for who knows the access token. It
// has the platform's limit of messages to one user, 45 at once and one in six
// seconds from then on.
func New(token, number string) *Server {
	s := &Server{Platform: fakeplatform.New(PairRate), token: token, number: number}
	s.Limit(6*time.Second, 45)
	s.get = http.NewServeMux()
	s.get.HandleFunc("/"+Version+"/{id}", s.locate)
	s.get.HandleFunc("/attachments/{place}", s.attachment)
	return s
}

// Typing returns the messages to which an answer was shown to be typed, in order.
func (s *Server) Typing() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.typing...)
}

// read shows a message of a user as read.
func (s *Server) read(w http.ResponseWriter, o outgoing) {
	if o.Product != "whatsapp" || o.Status != "read" || !strings.HasPrefix(o.MessageID, "wamid.") || o.Indicator != nil && o.Indicator.Type != "text" {
		Error(http.StatusBadRequest, 100, "(#100) Invalid parameter").Answer(w)
		return
	}
	if o.Indicator != nil {
		s.mu.Lock()
		s.typing = append(s.typing, o.MessageID)
		s.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"success":true}`)
}

type outgoing struct {
	Product       string  `json:"messaging_product"`
	RecipientType string  `json:"recipient_type"`
	To            string  `json:"to"`
	Recipient     string  `json:"recipient"`
	Type          string  `json:"type"`
	Text          *text   `json:"text"`
	Interactive   *choice `json:"interactive"`
	Opaque        string  `json:"biz_opaque_callback_data"`
	media
	// Of the call that shows a message as read.
	Status    string `json:"status"`
	MessageID string `json:"message_id"`
	Indicator *struct {
		Type string `json:"type"`
	} `json:"typing_indicator"`
}

type text struct {
	Body string `json:"body"`
}

type choice struct {
	Type string `json:"type"`
	Body struct {
		Text string `json:"text"`
	} `json:"body"`
	Action struct {
		Buttons []struct {
			Type  string `json:"type"`
			Reply option `json:"reply"`
		} `json:"buttons"`
		Button   string `json:"button"`
		Sections []struct {
			Rows []option `json:"rows"`
		} `json:"sections"`
	} `json:"action"`
}

type option struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// ServeHTTP is the Graph API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+s.token {
		Error(http.StatusUnauthorized, 190, "Error validating access token").Answer(w)
		return
	}
	if r.Method == http.MethodGet {
		s.get.ServeHTTP(w, r)
		return
	}
	if r.Method != http.MethodPost || r.URL.Path != "/"+Version+"/"+s.number+"/messages" {
		Error(http.StatusBadRequest, 100, "Unsupported post request: the object does not exist").Answer(w)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	var o outgoing
	if err := json.Unmarshal(body, &o); err != nil {
		Error(http.StatusBadRequest, 100, "Invalid parameter").Answer(w)
		return
	}
	if o.Status != "" {
		s.read(w, o)
		return
	}
	call := fakeplatform.Call{Message: o.message(), ID: func(n int) string { return "wamid.OUT" + strconv.Itoa(n) }, Answer: answer}
	if why := o.fault(); why != "" {
		call.Refusal = Error(http.StatusBadRequest, 100, "(#100) "+why)
	} else if f := o.file(o.Type); f != nil {
		call.Refusal = s.fetch(f)
	}
	s.Serve(w, r, call)
}

func answer(w http.ResponseWriter, m fakeplatform.Message) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"messaging_product":"whatsapp","contacts":[{"input":%q}],"messages":[{"id":%q}]}`, m.Chat, m.ID)
}

func (o *outgoing) message() fakeplatform.Message {
	m := fakeplatform.Message{Chat: o.To + o.Recipient, Part: o.Opaque}
	if o.RecipientType == "group" {
		m.Chat = "group:" + m.Chat
	}
	if o.Text != nil {
		m.Text = o.Text.Body
	}
	if f := o.file(o.Type); f != nil {
		f.message(o.Type, &m)
	}
	if o.Interactive != nil {
		m.Text = o.Interactive.Body.Text
		for _, p := range o.options() {
			m.Buttons = append(m.Buttons, fakeplatform.Button{Label: p.Title, Payload: p.ID})
		}
	}
	return m
}

func (o *outgoing) options() []option {
	var all []option
	for _, b := range o.Interactive.Action.Buttons {
		all = append(all, b.Reply)
	}
	for _, s := range o.Interactive.Action.Sections {
		all = append(all, s.Rows...)
	}
	return all
}

// fault is what the platform says against o; empty for nothing.
func (o *outgoing) fault() string {
	switch {
	case o.Product != "whatsapp":
		return "The parameter messaging_product is required"
	case (o.To == "") == (o.Recipient == ""):
		return "The parameter to is required"
	case o.RecipientType != "individual" && o.RecipientType != "group":
		return "recipient_type must be individual or group"
	case strings.Trim(o.To, "0123456789") != "" && o.RecipientType == "individual":
		return "to is not a phone number"
	case utf8.RuneCountInString(o.Opaque) > 512:
		return "biz_opaque_callback_data is too long"
	case o.Text == nil && o.Interactive == nil && o.file(o.Type) != nil:
		return o.file(o.Type).fault(o.Type)
	case o.media != (media{}):
	case o.Type == "text" && o.Text != nil && o.Interactive == nil:
		return within("text.body", o.Text.Body, 4096)
	case o.Type == "interactive" && o.Interactive != nil && o.Text == nil:
		return o.choiceFault()
	}
	return "type does not go with what is there"
}

func within(name, s string, most int) string {
	if n := utf8.RuneCountInString(s); strings.TrimSpace(s) == "" || n > most {
		return fmt.Sprintf("Param %s must have 1 to %d characters, has %d", name, most, n)
	}
	return ""
}

func (o *outgoing) choiceFault() string {
	most, title, id := 3, 20, 256
	switch i := o.Interactive; i.Type {
	case "button":
	case "list":
		most, title, id = 10, 24, 200
		if why := within("action.button", i.Action.Button, 20); why != "" {
			return why
		}
	default:
		return "interactive.type is unknown"
	}
	if why := within("interactive.body.text", o.Interactive.Body.Text, 1024); why != "" {
		return why
	}
	all, seen := o.options(), map[string]bool{}
	if len(all) == 0 || len(all) > most {
		return fmt.Sprintf("%d choices, want 1 to %d", len(all), most)
	}
	for _, p := range all {
		if why := within("title", p.Title, title) + within("id", p.ID, id); why != "" {
			return why
		}
		if seen["i"+p.ID] || seen["t"+p.Title] {
			return "two choices are alike"
		}
		seen["i"+p.ID], seen["t"+p.Title] = true, true
	}
	return ""
}
