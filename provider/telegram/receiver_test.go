package telegram

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider/providertest"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

const (
	maya = "4410200001"
	club = "-1003000000001"
)

var noon = time.Unix(1797000000, 0).UTC()

// said is a message of Maya in her private chat.
func said(update, messageID string, m botmesh.Message) botmesh.Record {
	m.MessageID, m.UserName, m.Locale = messageID, "Maya", "en"
	return botmesh.Record{Type: botmesh.TypeMessage, ID: update, Chat: key(maya), User: maya, SentAt: noon, Message: m}
}

func with(rec botmesh.Record, change func(*botmesh.Record)) botmesh.Record {
	change(&rec)
	return rec
}

func samples(t *testing.T) []providertest.Sample {
	longest := strings.Repeat("x", 4094) + "\U0001F600"
	want := map[string]botmesh.Record{
		"group_reply_in_thread": {
			Type: botmesh.TypeMessage, ID: "u810000005", Chat: groupKey(club, "4410200002"), User: "4410200002", SentAt: noon,
			Message: botmesh.Message{Text: "which one is cheaper", MessageID: "103", ReplyTo: "101", UserName: "Ravi"},
		},
		"private_topic": with(said("u810000006", "13", botmesh.Message{Text: "about my order"}), func(r *botmesh.Record) {
			r.Chat.Chat = maya + "/7"
		}),
		"photo_with_caption": said("u810000007", "14", botmesh.Message{
			Text: "invoice 📎", Media: []botmesh.Media{{Kind: "image", Ref: "AgTea_big", Size: 182034}},
		}),
		"album_photo": said("u810000008", "15", botmesh.Message{
			Text: "both pots", Group: "13800000000000002", Media: []botmesh.Media{{Kind: "image", Ref: "AgTea_big", Size: 182034}},
		}),
		"voice": said("u810000010", "17", botmesh.Message{
			Media: []botmesh.Media{{Kind: "voice", Ref: "AwTea_1", Type: "audio/ogg", Size: 9012}},
		}),
		"button": {
			Type: botmesh.TypeCallback, ID: "u810000011", Chat: key(maya), User: maya,
			Message: botmesh.Message{Payload: "order:23:yes", Of: "18", UserName: "Maya", Locale: "en"},
		},
		"button_of_old_message": {
			Type: botmesh.TypeCallback, ID: "u810000013", Chat: key(maya), User: maya,
			Message: botmesh.Message{Payload: "menu:1", Of: "3", UserName: "Maya", Locale: "en"},
		},
		"bot_blocked": {
			Type: botmesh.TypeMembership, ID: "u810000020", Chat: key(maya), User: maya, SentAt: noon.Add(200 * time.Second),
			Message: botmesh.Message{Status: "blocked", UserName: "Maya", Locale: "en"},
		},
		"reaction": {
			Type: botmesh.TypeReaction, ID: "u810000022", Chat: groupKey(club, maya), User: maya, SentAt: noon.Add(300 * time.Second),
			Message: botmesh.Message{Text: "👍", Of: "101", UserName: "Maya", Locale: "en"},
		},
		"unknown_content": said("u810000024", "19", botmesh.Message{Unsupported: true}),
		"emoji_right_to_left": said("u810000025", "20", botmesh.Message{
			Text: "👩‍👩‍👧‍👦🏳️‍🌈👍🏽🇺🇳 مرحبا كيف حالك؟ \u200fשלום 123 abc \u202eevil\u202c",
		}),
		"longest_text": said("u810000026", "21", botmesh.Message{Text: longest}),
		"number_over_2_53": {
			Type: botmesh.TypeMessage, ID: "u810000027", Chat: key("9007199254740993"), User: "9007199254740993", SentAt: noon.Add(500 * time.Second),
			Message: botmesh.Message{Text: "a large number", MessageID: "22", UserName: "Large"},
		},
		"message_without_chat": {
			Type: botmesh.TypeEvent, ID: "u810000028", Chat: key("-"), SentAt: noon.Add(600 * time.Second),
			Message: botmesh.Message{MessageID: "23"},
		},
		"without_update_id": with(said("", "24", botmesh.Message{Text: "hello"}), func(r *botmesh.Record) {
			r.Type, r.ID = botmesh.TypeEvent, "" // filled in below
		}),
		"business_customer": with(said("u810000030", "26", botmesh.Message{Text: "is the shop open"}), func(r *botmesh.Record) {
			r.Chat.Chat = "biz:conn_7:" + maya
		}),
	}
	var out []providertest.Sample
	for name, rec := range want {
		body := read(t, name)
		if rec.ID == "" {
			rec.ID = bodyID(body)
		}
		out = append(out, providertest.Sample{Name: name, Header: signed(), Body: body, Want: []botmesh.Record{rec}})
	}
	return out
}

// SPEC: X1 J9
func TestReceiver(t *testing.T) {
	t.Parallel()
	all := samples(t)
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	webhooks := 0
	for _, f := range files {
		if !strings.HasPrefix(filepath.Base(f), "answer_") {
			webhooks++
		}
	}
	if len(all) != webhooks {
		t.Errorf("got %d samples with what they become, want all %d", len(all), webhooks)
	}
	r := newReceiver(t)
	providertest.Receiver(t, r, all, SecretHeader)
	sample := func(name, body string) providertest.Sample {
		return providertest.Sample{Name: name, Header: signed(), Body: []byte(body)}
	}
	const business = `{"update_id":1,"business_message":{"business_connection_id":"c","chat":{"id":7,"type":"private"},"text":"a",`
	providertest.Unknown(t, r, sample("a kind", `{"update_id":1,"telepathy":{"thought":"a"}}`),
		sample("a kind with a chat", `{"update_id":1,"telepathy":{"chat":{"id":7,"type":"private"},"from":{"id":7}}}`))
	providertest.Own(t, r, sample("of the bot", business+`"from":{"id":7},"sender_business_bot":{"id":9}}}`), sample("of the owner", business+`"from":{"id":8}}}`))
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	var seeds [][]byte
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, body)
	}
	seeds = append(seeds, []byte(`{"update_id":1,"message":{"chat":{"id":"x"}}}`), []byte(`{"update_id":1e3,"poll":[]}`),
		[]byte(`{"update_id":2,"deleted_business_messages":{"chat":{"id":5},"message_ids":[1,1]}}`))
	r, err := NewReceiver(ReceiverConfig{Secret: testSecret})
	if err != nil {
		f.Fatal(err)
	}
	providertest.FuzzParse(f, r, signed(), seeds...)
}

// What a test sends is what Telegram sends.
func TestUpdatesOfTheFake(t *testing.T) {
	t.Parallel()
	at := time.Unix(1796000000, 0).UTC()
	providertest.Receiver(t, newReceiver(t), []providertest.Sample{
		{Name: "Text", Header: signed(), Body: telegramtest.Text(7, 55, "hi"), Want: []botmesh.Record{{
			Type: botmesh.TypeMessage, ID: "u7", Chat: key("55"), User: "55", SentAt: at,
			Message: botmesh.Message{Text: "hi", MessageID: "7", UserName: "User 55", Locale: "en"},
		}}},
		{Name: "GroupText", Header: signed(), Body: telegramtest.GroupText(8, -100, 55, "hi"), Want: []botmesh.Record{{
			Type: botmesh.TypeMessage, ID: "u8", Chat: groupKey("-100", "55"), User: "55", SentAt: at,
			Message: botmesh.Message{Text: "hi", MessageID: "8", UserName: "User 55", Locale: "en"},
		}}},
		{Name: "Press", Header: signed(), Body: telegramtest.Press(9, 55, 3, "yes"), Want: []botmesh.Record{{
			Type: botmesh.TypeCallback, ID: "u9", Chat: key("55"), User: "55",
			Message: botmesh.Message{Payload: "yes", Of: "3", UserName: "User 55", Locale: "en"},
		}}},
	}, SecretHeader)
}

func TestAnswerTakesTheWaitingSignOff(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	var got struct {
		Method string `json:"method"`
		ID     string `json:"callback_query_id"`
	}
	if err := json.Unmarshal(r.Answer(read(t, "button")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Method != "answerCallbackQuery" || got.ID != "4382012345678901234" {
		t.Errorf("got %+v, want the press of the sample answered", got)
	}
	for _, name := range []string{"voice", "without_update_id"} {
		if a := r.Answer(read(t, name)); a != nil {
			t.Errorf("%s: got the answer %s, want none", name, a)
		}
	}
}

func TestNewReceiverNamesAllFaults(t *testing.T) {
	t.Parallel()
	_, err := NewReceiver(ReceiverConfig{ID: "Tele gram", Secret: "not/allowed", MaxBody: -1})
	if err == nil {
		t.Fatal("got no error, want one")
	}
	for _, word := range []string{"Tele gram", "secret", "negative"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("got %q, want it to name %q", err, word)
		}
	}
	if strings.Contains(err.Error(), "not/allowed") {
		t.Errorf("got %q, want no secret in it", err)
	}
	for _, secret := range []string{"", strings.Repeat("x", 257)} {
		if _, err := NewReceiver(ReceiverConfig{Secret: secret}); err == nil {
			t.Errorf("secret of %d characters: got no error, want one", len(secret))
		}
	}
}
