package telegram

import (
	"encoding/json"
	"strconv"
	"strings"
)

// update is the part of an Update of the Bot API that is looked at. Ids are
// int64: a float64 would change the last digits of large ones.
type update struct {
	ID              *int64           `json:"update_id"`
	Message         *message         `json:"message"`
	EditedMessage   *message         `json:"edited_message"`
	BusinessMessage *message         `json:"business_message"`
	EditedBusiness  *message         `json:"edited_business_message"`
	DeletedBusiness *deletedMessages `json:"deleted_business_messages"`
	Callback        *callbackQuery   `json:"callback_query"`
	Reaction        *messageReaction `json:"message_reaction"`
	MyChatMember    *chatMember      `json:"my_chat_member"`
	ChatMember      *chatMember      `json:"chat_member"`
}

type chat struct {
	ID   int64  `json:"id"`
	Type string `json:"type"` // private, group, supergroup, channel
}

// group reports whether several people talk in the chat.
func (c *chat) group() bool { return c.Type == "group" || c.Type == "supergroup" }

type user struct {
	ID        int64  `json:"id"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Username  string `json:"username"`
	Language  string `json:"language_code"`
}

func (u *user) name() string {
	if n := strings.TrimSpace(u.FirstName + " " + u.LastName); n != "" {
		return n
	}
	return u.Username
}

type message struct {
	ID         int64  `json:"message_id"`
	Date       int64  `json:"date"`
	EditDate   int64  `json:"edit_date"`
	Chat       *chat  `json:"chat"`
	From       *user  `json:"from"`
	SenderChat *chat  `json:"sender_chat"`
	Business   string `json:"business_connection_id"`
	Thread     int64  `json:"message_thread_id"`
	// Topic says that Thread is a topic; it also comes with plain replies, where
	// it is not a conversation of its own.
	Topic       bool            `json:"is_topic_message"`
	AutoForward bool            `json:"is_automatic_forward"`
	SentByBot   json.RawMessage `json:"sender_business_bot"`
	ReplyTo     *struct {
		ID int64 `json:"message_id"`
	} `json:"reply_to_message"`
	Album   string `json:"media_group_id"`
	Text    string `json:"text"`
	Caption string `json:"caption"`

	Photo     []file `json:"photo"`
	Animation *file  `json:"animation"`
	Video     *file  `json:"video"`
	VideoNote *file  `json:"video_note"`
	Audio     *file  `json:"audio"`
	Voice     *file  `json:"voice"`
	Document  *file  `json:"document"`
	Sticker   *file  `json:"sticker"`
}

type file struct {
	ID   string `json:"file_id"`
	Name string `json:"file_name"`
	Size int64  `json:"file_size"`
	Type string `json:"mime_type"`
}

type callbackQuery struct {
	ID      string   `json:"id"`
	From    *user    `json:"from"`
	Message *message `json:"message"`
	Data    *string  `json:"data"`
}

type messageReaction struct {
	Chat      *chat `json:"chat"`
	MessageID int64 `json:"message_id"`
	User      *user `json:"user"`
	ActorChat *chat `json:"actor_chat"`
	Date      int64 `json:"date"`
	New       []struct {
		Emoji string `json:"emoji"`
	} `json:"new_reaction"`
}

type chatMember struct {
	Chat *chat `json:"chat"`
	From *user `json:"from"`
	Date int64 `json:"date"`
	New  struct {
		Status string `json:"status"`
	} `json:"new_chat_member"`
}

type deletedMessages struct {
	Business string  `json:"business_connection_id"`
	Chat     *chat   `json:"chat"`
	IDs      []int64 `json:"message_ids"`
}

func id(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
