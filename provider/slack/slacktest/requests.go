package slacktest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The workspace, the app and its bot's user in every request made here.
const (
	Team = "T0TEST001"
	App  = "A0TEST001"
	Bot  = "U0BOT0001"
)

// Sign is the header that Slack posts a body with at that time. A body that begins
// with a brace is JSON, and a form if not.
func Sign(signingSecret string, at time.Time, body []byte) http.Header {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(signingSecret))
	fmt.Fprintf(mac, "v0:%s:%s", stamp, body)
	typ := "application/x-www-form-urlencoded"
	if strings.HasPrefix(string(body), "{") {
		typ = "application/json"
	}
	return http.Header{
		"Content-Type":              {typ},
		"X-Slack-Request-Timestamp": {stamp},
		"X-Slack-Signature":         {"v0=" + hex.EncodeToString(mac.Sum(nil))},
	}
}

// Text is the event of a text that a user wrote in a channel. The time stamp is
// the message's id there.
func Text(channel, user, stamp, text string) []byte {
	return Event("message", map[string]any{"channel": channel, "user": user, "ts": stamp, "event_ts": stamp, "text": text})
}

// Event is an event of that type with these fields.
func Event(typ string, fields map[string]any) []byte {
	fields["type"] = typ
	return marshal(map[string]any{
		"type": "event_callback", "team_id": Team, "api_app_id": App, "event": fields,
		"event_id": fmt.Sprint("Ev", fields["event_ts"]), "event_time": 1796000000,
		"authorizations": []any{map[string]any{"team_id": Team, "user_id": Bot, "is_bot": true}},
	})
}

// Press is the form of a button that a user pressed below the bot's message of
// that time stamp.
func Press(channel, user, message, stamp, payload string) []byte {
	return form("payload", string(marshal(map[string]any{
		"type": "block_actions", "api_app_id": App, "trigger_id": stamp,
		"user": map[string]any{"id": user, "team_id": Team}, "team": map[string]any{"id": Team}, "channel": map[string]any{"id": channel},
		"container": map[string]any{"type": "message", "message_ts": message, "channel_id": channel},
		"message":   map[string]any{"ts": message},
		"actions":   []any{map[string]any{"type": "button", "action_id": "b0", "value": payload, "action_ts": stamp}},
	})))
}

// Command is the form of a slash command.
func Command(channel, user, trigger, command, text string) []byte {
	return form("command", command, "text", text, "team_id", Team, "channel_id", channel, "user_id", user, "trigger_id", trigger)
}

func form(pairs ...string) []byte {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return []byte(v.Encode())
}

func marshal(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // only strings and numbers are in it
	}
	return body
}
