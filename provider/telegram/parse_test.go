package telegram

import (
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh"
)

// SPEC: X2
func TestParseRefusesWhatIsNoUpdate(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	for name, c := range map[string]struct{ body, want string }{
		"Empty":     {"", "empty"},
		"Blank":     {" \n", "empty"},
		"Broken":    {`{"update_id":1,`, "byte 15"},
		"Array":     {`[{"update_id":1}]`, "not a JSON object"},
		"Form":      {"update_id=1", "not a JSON object"},
		"Trailing":  {`{"update_id":1} {"update_id":2}`, "byte 17"},
		"TooDeep":   {strings.Repeat(`{"a":[`, 40) + strings.Repeat("]}", 40), "deeper than 64"},
		"VeryDeep":  {strings.Repeat(`{"a":`, 1<<17), "deeper than 64"},
		"Truncated": {`{"update_id":1,"message":{"text":"\ud83d`, "broken JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recs, err := r.Parse(signed(), []byte(c.body))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, %v, want an error with %q", recs, err, c.want)
			}
		})
	}
}

// A brace in a string does not count, and neither does a quote that is escaped.
func TestParseCountsNoDepthInStrings(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(`{[\"\\`, 100)
	recs, err := newReceiver(t).Parse(signed(), []byte(`{"update_id":1,"message":{"message_id":1,"chat":{"id":5,"type":"private"},"text":"`+text+`"}}`))
	if err != nil || len(recs) != 1 || recs[0].Message.Text != strings.Repeat(`{["\`, 100) {
		t.Errorf("got %v, %v, want the text as it is", recs, err)
	}
}

// SPEC: J9 X2
func TestParseKinds(t *testing.T) {
	t.Parallel()
	const group = `"chat":{"id":-100,"type":"supergroup"}`
	for name, c := range map[string]struct {
		body string
		typ  botmesh.RecordType
		chat botmesh.ChatKey
		user string
	}{
		"Edit": {`{"update_id":1,"edited_message":{"message_id":9,` + group + `,"from":{"id":7},"text":"/stop"}}`,
			botmesh.TypeEdit, groupKey("-100", "7"), "7"},
		"Topic": {`{"update_id":1,"message":{"message_thread_id":4,"is_topic_message":true,` + group + `,"from":{"id":7},"text":"a"}}`,
			botmesh.TypeMessage, groupKey("-100/4", "7"), "7"},
		"PressInTopic": {`{"update_id":1,"callback_query":{"id":"1","data":"a","from":{"id":7},"message":{"message_thread_id":4,"is_topic_message":true,` + group + `}}}`,
			botmesh.TypeCallback, groupKey("-100/4", "7"), "7"},
		"PressOnInlineResult": {`{"update_id":1,"callback_query":{"id":"1","data":"a","from":{"id":7},"inline_message_id":"x"}}`,
			botmesh.TypeEvent, key("-"), "7"},
		"PressOfGame": {`{"update_id":1,"callback_query":{"id":"1","game_short_name":"a","from":{"id":7},"message":{"chat":{"id":7,"type":"private"}}}}`,
			botmesh.TypeEvent, key("7"), "7"},
		"AnonymousAdmin": {`{"update_id":1,"message":{` + group + `,"from":{"id":1087968824,"is_bot":true},"sender_chat":{"id":-100},"text":"a"}}`,
			botmesh.TypeMessage, groupKey("-100", "-100"), "-100"},
		"AnonymousReaction": {`{"update_id":1,"message_reaction":{` + group + `,"message_id":3,"actor_chat":{"id":-5},"new_reaction":[]}}`,
			botmesh.TypeReaction, groupKey("-100", "-5"), "-5"},
		"ForwardedFromChannel": {`{"update_id":1,"message":{` + group + `,"from":{"id":777000},"sender_chat":{"id":-5},"is_automatic_forward":true,"text":"a"}}`,
			botmesh.TypeEvent, groupKey("-100", "-5"), "-5"},
		"ChannelPost": {`{"update_id":1,"channel_post":{"chat":{"id":-5,"type":"channel"},"sender_chat":{"id":-5},"text":"a"}}`,
			botmesh.TypeEvent, key("-5"), "-5"},
		"OwnerOfBusiness": {`{"update_id":1,"business_message":{"business_connection_id":"c","chat":{"id":7,"type":"private"},"from":{"id":8},"text":"a"}}`,
			botmesh.TypeEvent, key("biz:c:7"), "8"},
		"EchoOfBusinessBot": {`{"update_id":1,"business_message":{"business_connection_id":"c","chat":{"id":7,"type":"private"},"from":{"id":7},"sender_business_bot":{"id":9},"text":"a"}}`,
			botmesh.TypeEvent, key("biz:c:7"), "7"},
		"BusinessEdit": {`{"update_id":1,"edited_business_message":{"business_connection_id":"c","chat":{"id":7,"type":"private"},"from":{"id":7},"text":"a"}}`,
			botmesh.TypeEdit, key("biz:c:7"), "7"},
		"Joined": {`{"update_id":1,"message":{` + group + `,"from":{"id":7},"new_chat_members":[{"id":7}]}}`,
			botmesh.TypeMembership, groupKey("-100", "7"), "7"},
		"Pinned": {`{"update_id":1,"message":{` + group + `,"from":{"id":7},"pinned_message":{"text":"a"}}}`,
			botmesh.TypeEvent, groupKey("-100", "7"), "7"},
		"OtherMember": {`{"update_id":1,"chat_member":{` + group + `,"from":{"id":7},"new_chat_member":{"status":"left"}}}`,
			botmesh.TypeMembership, groupKey("-100", "7"), "7"},
		"JoinRequest": {`{"update_id":1,"chat_join_request":{` + group + `,"from":{"id":7}}}`,
			botmesh.TypeEvent, groupKey("-100", "7"), "7"},
		"KindOfNextYear":  {`{"update_id":1,"telepathy":{"thought":"a"}}`, botmesh.TypeEvent, key("-"), ""},
		"NullMessage":     {`{"update_id":1,"message":null}`, botmesh.TypeEvent, key("-"), ""},
		"NumberForText":   {`{"update_id":1,"message":{"chat":{"id":7,"type":"private"},"from":{"id":7},"text":5}}`, botmesh.TypeEvent, key("7"), "7"},
		"TextForNumber":   {`{"update_id":1,"message":{"chat":{"id":"7"},"text":"a"}}`, botmesh.TypeEvent, key("-"), ""},
		"NumberOverInt64": {`{"update_id":1,"message":{"chat":{"id":92233720368547758070},"text":"a"}}`, botmesh.TypeEvent, key("-"), ""},
		"TextForUpdateID": {`{"update_id":"1","message":{"chat":{"id":7,"type":"private"},"from":{"id":7},"text":"a"}}`, botmesh.TypeEvent, key("7"), "7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recs, err := newReceiver(t).Parse(signed(), []byte(c.body))
			if err != nil || len(recs) != 1 {
				t.Fatalf("got %d records, %v, want one", len(recs), err)
			}
			if r := recs[0]; r.Type != c.typ || r.Chat != c.chat || r.User != c.user {
				t.Errorf("got %s of %v by %q, want %s of %v by %q", r.Type, r.Chat, r.User, c.typ, c.chat, c.user)
			}
			if string(recs[0].Raw) != c.body {
				t.Errorf("got raw %s, want the update as it was", recs[0].Raw)
			}
		})
	}
}

func TestParseDetails(t *testing.T) {
	t.Parallel()
	parse := func(t *testing.T, body string) []botmesh.Record {
		recs, err := newReceiver(t).Parse(signed(), []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return recs
	}
	t.Run("EditNamesItsMessage", func(t *testing.T) {
		t.Parallel()
		m := parse(t, `{"update_id":1,"edited_message":{"message_id":9,"chat":{"id":7,"type":"private"},"edit_date":60,"text":"a"}}`)[0]
		if m.Message.Of != "9" || m.Message.MessageID != "" || m.SentAt.Unix() != 60 {
			t.Errorf("got of %q, message %q at %v, want of 9 at the time of the edit", m.Message.Of, m.Message.MessageID, m.SentAt)
		}
	})
	t.Run("EveryDeletedMessage", func(t *testing.T) {
		t.Parallel()
		recs := parse(t, `{"update_id":1,"deleted_business_messages":{"business_connection_id":"c","chat":{"id":7,"type":"private"},"message_ids":[3,4]}}`)
		if len(recs) != 2 || recs[0].ID != "u1/0" || recs[1].Message.Of != "4" || recs[1].Type != botmesh.TypeDelete || recs[1].Chat != key("biz:c:7") {
			t.Errorf("got %+v, want one deletion for each message", recs)
		}
	})
	t.Run("ManyDeletedMessagesStayBounded", func(t *testing.T) { // SPEC: X2
		t.Parallel()
		of := func(n int) []botmesh.Record {
			ids := strings.TrimSuffix(strings.Repeat("7,", n), ",")
			return parse(t, `{"update_id":1,"deleted_business_messages":{"business_connection_id":"c","chat":{"id":7,"type":"private"},"message_ids":[`+ids+`]}}`)
		}
		size := 0
		few := of(256)
		for _, r := range few {
			size += len(r.Raw)
		}
		if len(few) != 256 || size == 0 || size > 2000 {
			t.Errorf("256 deletions: got %d records with %d bytes of what was sent, want 256 with one copy of it", len(few), size)
		}
		if many := of(20000); len(many) != 1 || many[0].Type != botmesh.TypeEvent || len(many[0].Raw) == 0 || many[0].Chat != key("biz:c:7") {
			t.Errorf("20000 deletions: got %d records, first %s of %s, want one event of the chat", len(many), many[0].Type, many[0].Chat)
		}
	})
	t.Run("FirstMessageOfTopicIsNoReply", func(t *testing.T) {
		t.Parallel()
		m := parse(t, `{"update_id":1,"message":{"chat":{"id":7,"type":"private"},"message_thread_id":4,"is_topic_message":true,"reply_to_message":{"message_id":4},"text":"a"}}`)[0]
		if m.Message.ReplyTo != "" {
			t.Errorf("got a reply to %q, want none", m.Message.ReplyTo)
		}
	})
	t.Run("NoTimeBeyondTheCalendar", func(t *testing.T) {
		t.Parallel()
		if m := parse(t, `{"update_id":1,"message":{"date":9000000000000000,"chat":{"id":7},"text":"a"}}`)[0]; !m.SentAt.IsZero() {
			t.Errorf("got the time %v, want none", m.SentAt)
		}
	})
	t.Run("RepeatedBodyHasTheSameID", func(t *testing.T) {
		t.Parallel()
		a, b, c := parse(t, `{"poll":1}`)[0].ID, parse(t, `{"poll":1}`)[0].ID, parse(t, `{"poll":2}`)[0].ID
		if a != b || a == c {
			t.Errorf("got ids %q, %q, %q, want the same for the same body only", a, b, c)
		}
	})
}
