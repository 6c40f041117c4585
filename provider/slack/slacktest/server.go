// Package slacktest is a Slack to test against: the calls that send a message and change one,
// with a log of what it took, the refusals of the real one, and faults on order.
// Its requests are in requests.go.
package slacktest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/botmesh-go/botmesh/provider/fakeplatform"
)

// Error is the answer by which Slack refuses a call: success by its status.
func Error(code string) fakeplatform.Fault {
	return fakeplatform.Fault{Status: http.StatusOK, Body: fmt.Sprintf(`{"ok":false,"error":%q}`, code)}
}

// RateLimit is the answer to too many calls; after is in whole seconds.
func RateLimit(after time.Duration) fakeplatform.Fault {
	f := Error("ratelimited")
	f.Status = http.StatusTooManyRequests
	f.Header = http.Header{"Retry-After": {fmt.Sprint(int(after / time.Second))}}
	return f
}

// Server is the Web API with one app. It is an http.Handler, safe for concurrent
// use.
type Server struct {
	*fakeplatform.Platform
	token string
	files files
}

// New makes a server for who knows the token.
func New(token string) *Server {
	return &Server{Platform: fakeplatform.New(RateLimit(time.Second)), token: token}
}

type outgoing struct {
	Channel  string  `json:"channel"`
	Thread   string  `json:"thread_ts"`
	Stamp    string  `json:"ts"`
	Text     string  `json:"text"`
	Markdown *bool   `json:"mrkdwn"`
	Blocks   []block `json:"blocks"`
	Metadata struct {
		Payload struct {
			Part string `json:"part"`
		} `json:"event_payload"`
	} `json:"metadata"`
}

var (
	channel  = regexp.MustCompile(`^[CDG][A-Z0-9]+$`)
	unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
)

// ServeHTTP is the Web API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Header.Get("Authorization") != "Bearer "+s.token:
		Error("invalid_auth").Answer(w)
		return
	case r.Method == http.MethodGet && r.URL.Path == "/files.info":
		s.filesInfo(w, r)
		return
	case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, filesPath):
		s.serveFile(w, r)
		return
	case r.Method != http.MethodPost || r.URL.Path != "/chat.postMessage" && r.URL.Path != "/chat.update":
		Error("unknown_method").Answer(w)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	var o outgoing
	if err := json.Unmarshal(body, &o); err != nil {
		Error("invalid_json").Answer(w)
		return
	}
	call := fakeplatform.Call{Message: o.message(), ID: func(n int) string { return fmt.Sprintf("1796000000.%06d", n) }, Answer: answer}
	if r.URL.Path == "/chat.update" {
		call.Unknown = Error("message_not_found")
		call.Changes = func(m fakeplatform.Message) bool {
			in, _, _ := strings.Cut(m.Chat, "/")
			return in == o.Channel && m.ID == o.Stamp
		}
	}
	if code := o.fault(); code != "" {
		call.Refusal = Error(code)
	} else if tooLong(body) {
		call.Refusal = Error("msg_blocks_too_long")
	}
	s.Serve(w, r, call)
}

func answer(w http.ResponseWriter, m fakeplatform.Message) {
	w.Header().Set("Content-Type", "application/json")
	in, _, _ := strings.Cut(m.Chat, "/")
	fmt.Fprintf(w, `{"ok":true,"channel":%q,"ts":%q}`, in, m.ID)
}

// message is what the user sees.
func (o *outgoing) message() fakeplatform.Message {
	m := fakeplatform.Message{Chat: o.Channel, Text: unescape.Replace(o.Text), Part: o.Metadata.Payload.Part}
	if o.Thread != "" {
		m.Chat += "/" + o.Thread
	}
	var said []string
	for _, b := range o.Blocks {
		switch b.Type {
		case "image":
			m.Media, m.Text = fakeplatform.Media{Kind: b.Type, URL: b.Image, Name: b.Alt}, ""
		case "section", "rich_text":
			said = append(said, b.said())
		}
		buttons, _ := b.buttons()
		for _, e := range buttons {
			m.Buttons = append(m.Buttons, fakeplatform.Button{Label: e.Text.Text, Payload: e.Value})
		}
	}
	if said != nil {
		m.Text = strings.Join(said, "\n")
	}
	return m
}

// fault is the code of what Slack has against o; empty for nothing.
func (o *outgoing) fault() string {
	switch {
	case !channel.MatchString(o.Channel):
		return "channel_not_found"
	case strings.TrimSpace(o.Text) == "" && len(o.Blocks) == 0:
		return "no_text"
	case utf8.RuneCountInString(o.Text) > 4000: // the real one takes more, and cuts off
		return "msg_too_long"
	case len(o.Blocks) > 50:
		return "invalid_blocks"
	}
	return o.blocksFault()
}

// fetched reports whether Slack can fetch an image: not from a host below .invalid.
func fetched(address string) bool {
	at, err := url.Parse(address)
	return err == nil && (at.Scheme == "http" || at.Scheme == "https") && len(address) <= 3000 && !strings.HasSuffix(at.Hostname(), ".invalid")
}

func within(s string, most int) bool {
	return strings.TrimSpace(s) != "" && utf8.RuneCountInString(s) <= most
}
