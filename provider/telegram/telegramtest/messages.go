package telegramtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/botmesh-go/botmesh/provider/fakeplatform"
)

type outgoing struct {
	Business string   `json:"business_connection_id"`
	ChatID   int64    `json:"chat_id"`
	Message  int64    `json:"message_id"`
	Topic    int64    `json:"message_thread_id"`
	Text     string   `json:"text"`
	Entities []entity `json:"entities"`
	Action   string   `json:"action"`
	Caption  string   `json:"caption"`
	Below    []entity `json:"caption_entities"`
	files
	Markup struct {
		Keyboard [][]button `json:"inline_keyboard"`
	} `json:"reply_markup"`
}

type button struct {
	Label   string `json:"text"`
	Payload string `json:"callback_data"`
}

// chat is the address as a chat key has it: "<chat>", "<chat>/<topic>" or
// "biz:<connection>:<chat>".
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

// sendMessage takes a message by the method for its kind, or changes one.
func (s *Server) sendMessage(w http.ResponseWriter, r *http.Request, method string, body []byte) {
	var o outgoing
	if err := json.Unmarshal(body, &o); err != nil {
		badRequest("can't parse the request").Answer(w)
		return
	}
	call := fakeplatform.Call{Message: s.message(&o), ID: strconv.Itoa, Answer: o.answer}
	if method == "editMessageText" {
		call.Unknown, call.Same = badRequest("message to edit not found"), badRequest("message is not modified")
		call.Changes = func(m fakeplatform.Message) bool { return m.ID == strconv.FormatInt(o.Message, 10) }
	}
	if why := o.fault(); why != "" {
		call.Refusal = badRequest(why)
	} else if why := s.fileFault(method, &o); why != "" {
		call.Refusal = badRequest(why)
	}
	s.Serve(w, r, call)
}

func (s *Server) message(o *outgoing) fakeplatform.Message {
	m := fakeplatform.Message{Chat: o.chat(), Text: o.Text + o.Caption, Media: s.media(o)}
	for _, b := range slices.Concat(o.Markup.Keyboard...) {
		m.Buttons = append(m.Buttons, fakeplatform.Button(b))
	}
	m.Look = fmt.Sprintf("%q", []any{o.Entities, o.Below, o.Markup.Keyboard})
	return m
}

func (o *outgoing) answer(w http.ResponseWriter, m fakeplatform.Message) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"ok":true,"result":{"message_id":%s,"date":%d,"chat":{"id":%d}}}`, m.ID, time.Now().Unix(), o.ChatID)
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
	if why := cmp.Or(entitiesFault(o.Text, o.Entities), entitiesFault(o.Caption, o.Below)); why != "" {
		return why
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

func units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}
