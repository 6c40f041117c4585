package telegram

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/botmesh-go/botmesh"
)

// service names the fields by which Telegram reports, in the form of a message,
// what happened in a chat. None of them is something that a user says.
var service = map[string]botmesh.RecordType{
	"new_chat_members":                  botmesh.TypeMembership,
	"left_chat_member":                  botmesh.TypeMembership,
	"new_chat_title":                    botmesh.TypeEvent,
	"new_chat_photo":                    botmesh.TypeEvent,
	"delete_chat_photo":                 botmesh.TypeEvent,
	"group_chat_created":                botmesh.TypeEvent,
	"supergroup_chat_created":           botmesh.TypeEvent,
	"channel_chat_created":              botmesh.TypeEvent,
	"message_auto_delete_timer_changed": botmesh.TypeEvent,
	"migrate_to_chat_id":                botmesh.TypeEvent,
	"migrate_from_chat_id":              botmesh.TypeEvent,
	"pinned_message":                    botmesh.TypeEvent,
	"successful_payment":                botmesh.TypeEvent,
	"refunded_payment":                  botmesh.TypeEvent,
	"users_shared":                      botmesh.TypeEvent,
	"chat_shared":                       botmesh.TypeEvent,
	"write_access_allowed":              botmesh.TypeEvent,
	"connected_website":                 botmesh.TypeEvent,
	"passport_data":                     botmesh.TypeEvent,
	"web_app_data":                      botmesh.TypeEvent,
	"proximity_alert_triggered":         botmesh.TypeEvent,
	"boost_added":                       botmesh.TypeEvent,
	"chat_background_set":               botmesh.TypeEvent,
	"forum_topic_created":               botmesh.TypeEvent,
	"forum_topic_edited":                botmesh.TypeEvent,
	"forum_topic_closed":                botmesh.TypeEvent,
	"forum_topic_reopened":              botmesh.TypeEvent,
	"general_forum_topic_hidden":        botmesh.TypeEvent,
	"general_forum_topic_unhidden":      botmesh.TypeEvent,
	"video_chat_scheduled":              botmesh.TypeEvent,
	"video_chat_started":                botmesh.TypeEvent,
	"video_chat_ended":                  botmesh.TypeEvent,
	"video_chat_participants_invited":   botmesh.TypeEvent,
	"giveaway_created":                  botmesh.TypeEvent,
	"giveaway_completed":                botmesh.TypeEvent,
}

// messageType says what m, which body holds under the name field, is.
//
// A message that the business account sent (its owner, or this bot for him) and
// one that a channel forwarded to its group are events: nobody spoke to the bot.
func messageType(m *message, body []byte, field string) botmesh.RecordType {
	switch {
	case m.Chat == nil, m.AutoForward, len(m.SentByBot) > 0:
		return botmesh.TypeEvent
	case m.Business != "" && m.From != nil && m.From.ID != m.Chat.ID:
		return botmesh.TypeEvent
	case m.Text != "" || m.Caption != "" || len(m.media()) > 0:
		return botmesh.TypeMessage
	}
	var update, fields map[string]json.RawMessage
	if json.Unmarshal(body, &update) != nil || json.Unmarshal(update[field], &fields) != nil {
		return botmesh.TypeEvent
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if typ, ok := service[name]; ok {
			return typ
		}
	}
	return botmesh.TypeMessage
}

// media lists the message's file. A photo comes in several sizes, the last of
// which is the largest.
func (m *message) media() []botmesh.Media {
	photo := (*file)(nil)
	if n := len(m.Photo); n > 0 {
		photo = &m.Photo[n-1]
	}
	// An animation has a document beside it for old clients: the first one counts.
	for _, f := range []struct {
		kind string
		*file
	}{
		{"image", photo},
		{"video", m.Animation},
		{"video", m.Video},
		{"video", m.VideoNote},
		{"audio", m.Audio},
		{"voice", m.Voice},
		{"document", m.Document},
		{"sticker", m.Sticker},
	} {
		if f.file != nil && f.ID != "" {
			return []botmesh.Media{{Kind: f.kind, Ref: f.ID, Name: f.Name, Type: f.Type, Size: f.Size}}
		}
	}
	return nil
}

func (m *message) address() address {
	a := address{business: m.Business}
	if m.Topic && m.Business == "" {
		a.topic = m.Thread
	}
	return a
}

// author is who wrote m: the chat in whose name it is, or the user. From is then
// a stand-in that all such messages share, and in channels there is none.
func (m *message) author() string {
	if m.SenderChat != nil && m.SenderChat.ID != 0 {
		return id(m.SenderChat.ID)
	}
	return m.From.id()
}

func (u *user) id() string {
	if u == nil {
		return ""
	}
	return id(u.ID)
}

// shown is how Telegram shows the user, and the user's language.
func (u *user) shown() (name, locale string) {
	if u == nil {
		return "", ""
	}
	return u.name(), u.Language
}
