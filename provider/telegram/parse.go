package telegram

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// Parse turns one Update into its record. Only deleted_business_messages can be
// several: one for each message.
//
// A message, a pressed button, an edit, a reaction and a change of membership
// have types of their own. All else is an event, and so is an update that does
// not have the form of one: without a number, without a chat, with a text where
// a number should be. Refusing those would make Telegram repeat them for a day
// and hold the chat back behind them.
func (r *Receiver) Parse(_ http.Header, body []byte) ([]botmesh.Record, error) {
	return r.parse(body)
}

// parser makes records of updates, under the chat keys of a provider's id.
type parser struct{ id string }

func (p parser) parse(body []byte) ([]botmesh.Record, error) {
	var u update
	err := provider.DecodeJSON(body, &u)
	var misfit *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &misfit) {
		return nil, err
	}
	var prefix string
	if u.ID != nil {
		prefix = "u" + strconv.FormatInt(*u.ID, 10)
	} else {
		prefix = bodyID(body)
	}
	recs := p.records(&u, body)
	for i := range recs {
		rec := &recs[i]
		rec.ID = prefix + rec.ID
		if i == 0 { // once: of many records each would be stored with all of it
			rec.Raw = body
		}
		if rec.Chat.Provider == "" {
			rec.Chat = botmesh.ChatKey{Provider: p.id, Chat: "-"}
		}
		if u.ID == nil || misfit != nil || rec.Chat.Chat == "-" {
			rec.Type = botmesh.TypeEvent
		}
	}
	return recs, nil
}

// bodyID is the id for an update that has none: a repetition has the same body.
func bodyID(body []byte) string {
	sum := sha256.Sum256(body)
	return "h" + hex.EncodeToString(sum[:16])
}

// records makes the records of u without what Parse adds to all. Their ID is
// what tells the records of one update apart: empty where there is one.
func (p parser) records(u *update, body []byte) []botmesh.Record {
	switch {
	case u.Message != nil:
		return one(p.message(u.Message, messageType(u.Message, body, "message")))
	case u.BusinessMessage != nil:
		return one(p.message(u.BusinessMessage, messageType(u.BusinessMessage, body, "business_message")))
	case u.EditedMessage != nil:
		return one(p.edit(u.EditedMessage))
	case u.EditedBusiness != nil:
		return one(p.edit(u.EditedBusiness))
	case u.DeletedBusiness != nil:
		return p.deleted(u.DeletedBusiness)
	case u.Callback != nil:
		return one(p.callback(u.Callback))
	case u.Reaction != nil:
		return one(p.reaction(u.Reaction))
	case u.MyChatMember != nil:
		return one(p.membership(u.MyChatMember))
	case u.ChatMember != nil:
		return one(p.membership(u.ChatMember))
	}
	return one(p.other(body))
}

func one(rec botmesh.Record) []botmesh.Record { return []botmesh.Record{rec} }

// key is the chat key of what user did in c, and the zero key if there is no chat.
func (p parser) key(c *chat, a address, user string) botmesh.ChatKey {
	if c == nil || c.ID == 0 {
		return botmesh.ChatKey{}
	}
	a.chat = c.ID
	k := botmesh.ChatKey{Provider: p.id, Chat: a.String()}
	if c.group() {
		k.Participant = user
	}
	return k
}

func (p parser) message(m *message, typ botmesh.RecordType) botmesh.Record {
	author := m.author()
	rec := botmesh.Record{
		Type:   typ,
		Chat:   p.key(m.Chat, m.address(), author),
		User:   author,
		SentAt: moment(m.Date),
		Message: botmesh.Message{
			Text:      cmp.Or(m.Text, m.Caption),
			MessageID: id(m.ID),
			Group:     m.Album,
			Media:     m.media(),
		},
	}
	rec.Message.Unsupported = typ == botmesh.TypeMessage && rec.Message.Text == "" && len(rec.Message.Media) == 0
	rec.Message.UserName, rec.Message.Locale = m.From.shown()
	// In a topic every message that answers none answers the topic's first one.
	if m.ReplyTo != nil && (!m.Topic || m.ReplyTo.ID != m.Thread) {
		rec.Message.ReplyTo = id(m.ReplyTo.ID)
	}
	return rec
}

func (p parser) edit(m *message) botmesh.Record {
	rec := p.message(m, botmesh.TypeEdit)
	rec.Message.Of, rec.Message.MessageID = rec.Message.MessageID, ""
	rec.SentAt = moment(m.EditDate)
	return rec
}

// maxDeleted bounds the deletions of one update that get a record each: they are
// stored one after the other, in the time that a webhook has.
const maxDeleted = 256

// deleted makes an event of an update without messages, or with too many.
func (p parser) deleted(d *deletedMessages) []botmesh.Record {
	if len(d.IDs) == 0 || len(d.IDs) > maxDeleted {
		return one(botmesh.Record{Type: botmesh.TypeEvent, Chat: p.key(d.Chat, address{business: d.Business}, "")})
	}
	recs := make([]botmesh.Record, len(d.IDs))
	for i, n := range d.IDs {
		recs[i] = botmesh.Record{
			Type:    botmesh.TypeDelete,
			ID:      "/" + strconv.Itoa(i),
			Chat:    p.key(d.Chat, address{business: d.Business}, ""),
			Message: botmesh.Message{Of: id(n)},
		}
	}
	return recs
}

// callback is a pressed button. Its message may be too old for Telegram to show
// more of it than its chat, and is missing when the button was on an inline
// result, which has no chat.
func (p parser) callback(q *callbackQuery) botmesh.Record {
	rec := botmesh.Record{Type: botmesh.TypeCallback, User: q.From.id()}
	rec.Message.UserName, rec.Message.Locale = q.From.shown()
	if q.Data == nil { // the button of a game
		rec.Type = botmesh.TypeEvent
	} else {
		rec.Message.Payload = *q.Data
	}
	if m := q.Message; m != nil {
		rec.Chat = p.key(m.Chat, m.address(), rec.User)
		rec.Message.Of = id(m.ID)
	}
	return rec
}

func (p parser) reaction(c *messageReaction) botmesh.Record {
	rec := botmesh.Record{Type: botmesh.TypeReaction, User: c.User.id(), SentAt: moment(c.Date)}
	if c.ActorChat != nil {
		rec.User = id(c.ActorChat.ID)
	}
	rec.Chat = p.key(c.Chat, address{}, rec.User)
	rec.Message.Of = id(c.MessageID)
	rec.Message.UserName, rec.Message.Locale = c.User.shown()
	for _, e := range c.New {
		rec.Message.Text += e.Emoji
	}
	return rec
}

// membership gives Telegram's word for what the member now is. In a private
// chat, where it says that the bot was kicked, the user blocked it.
func (p parser) membership(c *chatMember) botmesh.Record {
	rec := botmesh.Record{Type: botmesh.TypeMembership, User: c.From.id(), SentAt: moment(c.Date)}
	rec.Chat = p.key(c.Chat, address{}, rec.User)
	rec.Message.UserName, rec.Message.Locale = c.From.shown()
	rec.Message.Status = c.New.Status
	if c.Chat != nil && c.Chat.Type == "private" && c.New.Status == "kicked" {
		rec.Message.Status = "blocked"
	}
	return rec
}

// other is an update of a kind that is not known here: an event of its chat if it
// shows one where the known kinds do.
func (p parser) other(body []byte) botmesh.Record {
	rec := botmesh.Record{Type: botmesh.TypeEvent}
	kinds := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &kinds); err != nil {
		return rec
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		var m message
		if err := json.Unmarshal(kinds[kind], &m); err == nil && m.Chat != nil && m.Chat.ID != 0 {
			rec.User = m.author()
			rec.Chat = p.key(m.Chat, m.address(), rec.User)
			rec.SentAt = moment(m.Date)
			return rec
		}
	}
	return rec
}

// lastSecond is the last second of the year 9999. No platform's time is beyond it.
const lastSecond = 253402300799

func moment(unix int64) time.Time {
	if unix <= 0 || unix > lastSecond {
		return time.Time{}
	}
	return time.Unix(unix, 0).UTC()
}
