package whatsapptest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/botmesh-go/botmesh/provider/fakeplatform"
)

// date is the platform's time of every webhook made here.
const date = "1796000000"

// Sign is the header that the platform posts a body with.
func Sign(appSecret string, body []byte) http.Header {
	mac := hmac.New(sha256.New, []byte(appSecret))
	mac.Write(body)
	return http.Header{"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}}
}

// Item is a message or a status in a webhook.
type Item struct {
	list string
	item map[string]any
}

// Text is a text that a user of that phone number wrote.
func Text(id, phone, text string) Item {
	return Item{"messages", map[string]any{
		"id": id, "from": phone, "timestamp": date, "type": "text", "text": map[string]any{"body": text},
	}}
}

// Press is a button that a user pressed below a message of the bot's.
func Press(id, phone, of, payload string) Item {
	return Item{"messages", map[string]any{
		"id": id, "from": phone, "timestamp": date, "type": "interactive", "context": map[string]any{"id": of},
		"interactive": map[string]any{"type": "button_reply", "button_reply": map[string]any{"id": payload, "title": payload}},
	}}
}

// Status is what became of a message of the bot's: sent, delivered, read or failed.
func Status(of, phone, status string) Item {
	return Item{"statuses", map[string]any{"id": of, "status": status, "timestamp": date, "recipient_id": phone}}
}

// Undelivered tells that a message of the bot's, which was taken, failed, with the
// platform's error.
func Undelivered(m fakeplatform.Message, code int, title string) Item {
	i := Status(m.ID, m.Chat, "failed")
	i.item["biz_opaque_callback_data"] = m.Part
	i.item["errors"] = []any{map[string]any{"code": code, "title": title}}
	return i
}

// Webhook is the body of a webhook with all the items, for one number.
func Webhook(number string, items ...Item) []byte {
	value := map[string]any{
		"messaging_product": "whatsapp",
		"metadata":          map[string]any{"display_phone_number": "1" + number, "phone_number_id": number},
	}
	for _, i := range items {
		list, _ := value[i.list].([]any)
		value[i.list] = append(list, i.item)
	}
	body, err := json.Marshal(map[string]any{
		"object": "whatsapp_business_account",
		"entry":  []any{map[string]any{"id": "1", "changes": []any{map[string]any{"field": "messages", "value": value}}}},
	})
	if err != nil {
		panic(err) // only strings are in it
	}
	return ascii(body)
}

// ascii writes JSON as the platform does: all that is not ASCII by escapes, and
// slashes too.
func ascii(body []byte) []byte {
	var out []byte
	for _, r := range string(body) {
		switch {
		case r == '/':
			out = append(out, `\/`...)
		case r < utf8.RuneSelf:
			out = append(out, byte(r))
		default:
			for _, unit := range utf16.AppendRune(nil, r) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		}
	}
	return out
}
