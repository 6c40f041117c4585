package webchat

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/botmesh-go/botmesh"
)

// MaxText is the longest text that the page takes, in code points.
const MaxText = 4096

// maxBody has room for the longest text, each of whose code points may take
// twelve bytes in a form.
const maxBody = 64 << 10

const formType = "application/x-www-form-urlencoded"

var (
	messageID = regexp.MustCompile(`^[A-Za-z0-9-]{8,64}$`)
	language  = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}$`)
)

// MaxBody bounds what the page posts, in bytes.
func (c *Chat) MaxBody() int64 { return maxBody }

// Verify checks that the page itself posted, in a session of ours.
func (c *Chat) Verify(h http.Header, _ []byte) error {
	if err := sameOrigin(h); err != nil {
		return err
	}
	_, err := c.chat(h)
	return err
}

// Parse reads the form that the page posts:
//
//	chat     the chat that the page shows, which must be the session's
//	id       made by the page, the same when it posts again: the dedupe id
//	text     what the user says, or
//	payload  of, sig: those of a pressed button
//
// A payload counts only with the signature of its button, so that nobody presses
// one that the bot did not offer in this chat.
func (c *Chat) Parse(h http.Header, body []byte) ([]botmesh.Record, error) {
	chat, err := c.chat(h)
	if err != nil {
		return nil, err
	}
	if typ, _, err := mime.ParseMediaType(h.Get("Content-Type")); err != nil || typ != formType {
		return nil, errors.New("webchat: the body is not a form")
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, errors.New("webchat: the form is broken")
	}
	if form.Get("chat") != chat {
		return nil, errors.New("webchat: the page shows another session, open it again")
	}
	id := form.Get("id")
	if !messageID.MatchString(id) {
		return nil, errors.New("webchat: id is not 8 to 64 letters, digits or dashes")
	}
	rec := botmesh.Record{
		ID:      chat + "/" + id,
		Chat:    botmesh.ChatKey{Provider: c.cfg.ID, Chat: chat},
		User:    chat,
		Message: botmesh.Message{MessageID: id, Locale: locale(h)},
	}
	if form.Has("payload") {
		err = c.press(&rec, form)
	} else {
		err = say(&rec, form.Get("text"))
	}
	if err != nil {
		return nil, err
	}
	return []botmesh.Record{rec}, nil
}

func (c *Chat) press(rec *botmesh.Record, form url.Values) error {
	of, payload := form.Get("of"), form.Get("payload")
	// A line feed in the part's id would move where the id ends and the payload begins.
	if strings.ContainsFunc(of, unicode.IsControl) || !c.signed(form.Get("sig"), asButton, rec.Chat.Chat, of, payload) {
		return errors.New("webchat: not a button of this chat")
	}
	rec.Type = botmesh.TypeCallback
	rec.Message.Of, rec.Message.Payload = of, payload
	return nil
}

func say(rec *botmesh.Record, text string) error {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	switch {
	case text == "":
		return errors.New("webchat: text is empty")
	case !utf8.ValidString(text):
		return errors.New("webchat: text is not UTF-8")
	case utf8.RuneCountInString(text) > MaxText:
		return fmt.Errorf("webchat: text is over %d characters", MaxText)
	}
	rec.Type = botmesh.TypeMessage
	rec.Message.Text = text
	return nil
}

// locale is the language that the browser asks for first, empty if it does not say.
func locale(h http.Header) string {
	first, _, _ := strings.Cut(h.Get("Accept-Language"), ",")
	first, _, _ = strings.Cut(first, ";")
	if first = strings.TrimSpace(first); language.MatchString(first) {
		return first
	}
	return ""
}
