package slack

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

const (
	// verification is the type of the request that verifies the webhook's address.
	verification = "url_verification"
	formType     = "application/x-www-form-urlencoded"
	// nowhere is the chat of what is in no chat.
	nowhere = "-"
	// maxID is the longest id of a record, in bytes.
	maxID = 200
)

// Parse turns a request into records: one, but for a press of several buttons at
// once, and none for what the bot itself wrote and for Slack's own checks. What is
// of no known kind is an event.
func (r *Receiver) Parse(h http.Header, body []byte) ([]botmesh.Record, error) {
	typ, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err == nil && typ == formType {
		return r.form(body)
	}
	var e envelope
	err = provider.DecodeJSON(body, &e)
	var misfit *json.UnmarshalTypeError
	switch {
	case errors.As(err, &misfit):
		return r.finish(body, body, botmesh.Record{Type: botmesh.TypeEvent}), nil
	case err != nil:
		return nil, err
	case e.Type == verification:
		return nil, nil
	case e.Type != "event_callback":
		return r.finish(body, body, botmesh.Record{Type: botmesh.TypeEvent}), nil
	}
	rec, ok := r.event(&e)
	if !ok {
		return nil, nil
	}
	return r.finish(body, body, rec), nil
}

// form reads the requests that are forms: interactions and slash commands.
func (r *Receiver) form(body []byte) ([]botmesh.Record, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, errors.New("slack: the form is broken")
	}
	switch {
	case form.Has("payload"):
		payload := []byte(form.Get("payload"))
		var i interaction
		err := provider.DecodeJSON(payload, &i)
		var misfit *json.UnmarshalTypeError
		switch {
		case errors.As(err, &misfit):
			return r.finish(payload, body, botmesh.Record{Type: botmesh.TypeEvent}), nil
		case err != nil:
			return nil, err
		}
		return r.finish(payload, body, r.interaction(&i)...), nil
	case form.Has("ssl_check"):
		return nil, nil
	}
	raw, err := json.Marshal(form)
	if err != nil {
		return nil, errors.New("slack: the form is broken")
	}
	if form.Get("command") == "" {
		return r.finish(raw, body, botmesh.Record{Type: botmesh.TypeEvent}), nil
	}
	return r.finish(raw, body, r.command(form)), nil
}

// finish adds to the records what all have. A record without an id gets one made
// of the body: a repetition has the same.
func (r *Receiver) finish(raw, body []byte, recs ...botmesh.Record) []botmesh.Record {
	for i := range recs {
		rec := &recs[i]
		rec.Chat.Provider = r.id
		if _, err := parseAddress(rec.Chat.Chat); err != nil {
			rec.Chat = botmesh.ChatKey{Provider: r.id, Chat: nowhere}
			rec.Type = botmesh.TypeEvent
		}
		if rec.ID == "" {
			rec.ID = hash(body)
		} else if len(rec.ID) > maxID {
			rec.ID = hash([]byte(rec.ID))
		}
		if i == 0 { // once: of many records each would be stored with all of it
			rec.Raw = raw
		}
	}
	return recs
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return "h" + hex.EncodeToString(sum[:16])
}

// join writes an id of its parts, empty if one of them is.
func join(parts ...string) string {
	for _, p := range parts {
		if p == "" {
			return ""
		}
	}
	return strings.Join(parts, ":")
}

// user is a user's id as a record has it, empty if it has not the form of one.
func user(id, team, home string) string {
	if !channelForm.MatchString(id) {
		return ""
	}
	// An enterprise is a team of teams, not another one.
	if team == "" || home == "" || team == home || strings.HasPrefix(team, "E") || !channelForm.MatchString(team) {
		return id
	}
	return team + ":" + id
}

// key is the chat key of what a user did in a channel or in a thread of it.
func key(channel, thread, stamp, user string) botmesh.ChatKey {
	a := address{channel: channel}
	if thread != stamp { // the first message of a thread is in the channel itself
		a.thread = thread
	}
	k := botmesh.ChatKey{Chat: a.String()}
	if !a.direct() {
		k.Participant = user
	}
	return k
}

// maxActions bounds the actions of one interaction.
const maxActions = 100

// interaction is what was done with something that the bot showed. A press of a
// button has a record; all else is an event.
func (r *Receiver) interaction(i *interaction) []botmesh.Record {
	team := cmp.Or(i.Team.ID, i.Enterprise.ID)
	who := user(i.User.ID, i.User.Team, i.Team.ID)
	channel := cmp.Or(i.Channel.ID, i.Container.Channel)
	rec := botmesh.Record{
		Type: botmesh.TypeEvent,
		ID:   join(team, i.Type, i.Trigger),
		Chat: key(channel, cmp.Or(i.Message.Thread, i.Container.Thread), i.Container.Stamp, who),
		User: who,
	}
	rec.Message.UserName = cmp.Or(i.User.Username, i.User.Name)
	if i.Type != "block_actions" || len(i.Actions) == 0 || len(i.Actions) > maxActions {
		return []botmesh.Record{rec}
	}
	recs := make([]botmesh.Record, len(i.Actions))
	for n, a := range i.Actions {
		recs[n] = rec
		recs[n].Type = botmesh.TypeCallback
		if recs[n].ID = join(team, channel, i.Container.Stamp, a.Stamp); n > 0 {
			recs[n].ID = join(recs[n].ID, strconv.Itoa(n))
		}
		if recs[n].ID == "" || !stampForm.MatchString(a.Stamp) {
			return []botmesh.Record{rec} // not of a message
		}
		recs[n].SentAt = moment(a.Stamp)
		recs[n].Message.Of = i.Container.Stamp
		recs[n].Message.Text = a.Label.Text
		recs[n].Message.Payload = cmp.Or(a.Value, a.Selected.Value)
	}
	return recs
}

// command is a slash command: what the user wrote, with the command before it.
func (r *Receiver) command(form url.Values) botmesh.Record {
	team := cmp.Or(form.Get("team_id"), form.Get("enterprise_id"))
	who := user(form.Get("user_id"), "", "")
	return botmesh.Record{
		Type: botmesh.TypeMessage,
		ID:   join(team, "command", form.Get("trigger_id")),
		Chat: key(form.Get("channel_id"), form.Get("thread_ts"), "", who),
		User: who,
		Message: botmesh.Message{
			Text:     strings.TrimSpace(plain(form.Get("command") + " " + form.Get("text"))),
			UserName: form.Get("user_name"),
		},
	}
}

// moment reads a time stamp, "<seconds>.<microseconds>".
func moment(stamp string) time.Time {
	if !stampForm.MatchString(stamp) {
		return time.Time{}
	}
	seconds, fraction, _ := strings.Cut(stamp, ".")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n <= 0 || n > lastSecond {
		return time.Time{}
	}
	micros, err := strconv.ParseInt((fraction + "000000")[:6], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(n, micros*int64(time.Microsecond)).UTC()
}

// lastSecond is the last second of the year 9999. No platform's time is beyond it.
const lastSecond = 253402300799
