package telegramtest

import (
	"encoding/json"
	"strconv"
)

// date is the platform's time of every update made here.
const date = 1796000000

// Text is the body of the webhook for a text that a user wrote in his private
// chat with the bot; the chat has the user's number.
func Text(updateID, chat int64, text string) []byte {
	return update(updateID, "message", map[string]any{
		"message_id": updateID, "date": date, "text": text,
		"from": person(chat),
		"chat": map[string]any{"id": chat, "type": "private", "first_name": name(chat)},
	})
}

// GroupText is the body of the webhook for a text that a user wrote in a group.
func GroupText(updateID, group, user int64, text string) []byte {
	return update(updateID, "message", map[string]any{
		"message_id": updateID, "date": date, "text": text,
		"from": person(user),
		"chat": map[string]any{"id": group, "type": "supergroup", "title": "Test Club"},
	})
}

// Press is the body of the webhook for a button that a user pressed in his
// private chat with the bot, below the message of that id.
func Press(updateID, chat, messageID int64, payload string) []byte {
	return update(updateID, "callback_query", map[string]any{
		"id": strconv.FormatInt(updateID, 10), "data": payload, "chat_instance": "1",
		"from": person(chat),
		"message": map[string]any{"message_id": messageID, "date": date,
			"chat": map[string]any{"id": chat, "type": "private", "first_name": name(chat)}},
	})
}

func update(id int64, kind string, what any) []byte {
	body, err := json.Marshal(map[string]any{"update_id": id, kind: what})
	if err != nil {
		panic(err) // only strings and numbers are in it
	}
	return body
}

func person(id int64) map[string]any {
	return map[string]any{"id": id, "is_bot": false, "first_name": name(id), "language_code": "en"}
}

func name(id int64) string { return "User " + strconv.FormatInt(id, 10) }
