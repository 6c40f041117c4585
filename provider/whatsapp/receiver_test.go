package whatsapp

import (
	"cmp"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider/providertest"
	"github.com/botmesh-go/botmesh/provider/whatsapp/whatsapptest"
)

var noon = time.Unix(1797000000, 0).UTC()

// said is a message of Nora's.
func said(id string, m botmesh.Message) botmesh.Record {
	m.MessageID, m.UserName = "wamid."+id, "Nora Field"
	return botmesh.Record{
		Type: botmesh.TypeMessage, ID: testNumber + "/wamid." + id, Chat: key(nora), User: nora, SentAt: noon, Message: m,
	}
}

func with(rec botmesh.Record, change func(*botmesh.Record)) botmesh.Record {
	change(&rec)
	return rec
}

func text1(id, text string) botmesh.Record { return said(id, botmesh.Message{Text: text}) }

func statusOf(of, status string, second int) botmesh.Record {
	return botmesh.Record{
		Type: botmesh.TypeStatus, ID: testNumber + "/wamid." + of + "/" + status, Chat: key(nora), User: nora,
		SentAt: noon.Add(time.Duration(second) * time.Second), Message: botmesh.Message{Of: "wamid." + of, Status: status},
	}
}

func byPhone(r *botmesh.Record) { r.Chat, r.User = key(noraPhone), noraPhone }

func byIvo(r *botmesh.Record) { r.Chat, r.User, r.Message.UserName = key(ivo), ivo, "Ivo Field" }

// chose is a choice of Nora's, in a webhook that has none but that.
func chose(t testing.TB, name string, kind botmesh.RecordType) botmesh.Record {
	_, rest, _ := strings.Cut(string(read(t, name)), `"user_preferences":[`)
	item, _, _ := strings.Cut(rest, `]`)
	return botmesh.Record{
		Type: kind, ID: testNumber + "/" + hash([]byte(item)), Chat: key(nora), User: nora, SentAt: noon,
		Message: botmesh.Message{Status: "marketing_messages", UserName: "Nora Field"},
	}
}

func broken(id string) botmesh.Record {
	return botmesh.Record{Type: botmesh.TypeEvent, ID: id, Chat: key("-")}
}

// want is what the samples become, for the receiver of testNumber.
func want(t testing.TB) map[string][]botmesh.Record {
	other := func(number string, second int) func(*botmesh.Record) {
		return func(r *botmesh.Record) {
			r.Chat.Chat = number + "@" + r.Chat.Chat
			r.ID = strings.Replace(r.ID, testNumber, number, 1)
			r.SentAt = noon.Add(time.Duration(second) * time.Second)
		}
	}
	return map[string][]botmesh.Record{
		"text":                {text1("IN0001", "is the blue one in stock")},
		"user_without_phone":  {text1("IN0002", "no number shown")},
		"phone_without_user":  {with(text1("IN0003", "number only"), byPhone)},
		"without_contacts":    {with(text1("IN0033", "nobody introduced me"), func(r *botmesh.Record) { byPhone(r); r.Message.UserName = "" })},
		"six_days_late":       {with(text1("IN0036", "where were you"), func(r *botmesh.Record) { r.SentAt = noon.Add(-518400 * time.Second) })},
		"longest_text":        {text1("IN0032", strings.Repeat("é", 4095)+"😀")},
		"unsupported":         {said("IN0029", botmesh.Message{Unsupported: true})},
		"empty_change":        nil,
		"other_object":        {broken("/" + hash(read(t, "other_object")))},
		"image_with_caption":  {said("IN0004", botmesh.Message{Text: "the label", Media: []botmesh.Media{{Kind: "image", Ref: "2200000000000771", Type: "image/jpeg"}}})},
		"button_of_template":  {with(said("IN0008", botmesh.Message{Payload: "MOVE", Text: "Another day", Of: "wamid.OUT0003"}), func(r *botmesh.Record) { r.Type = botmesh.TypeCallback })},
		"revoked":             {with(said("IN0012", botmesh.Message{Of: "wamid.IN0001"}), func(r *botmesh.Record) { r.Type = botmesh.TypeDelete })},
		"reaction_taken_back": {with(said("IN0014", botmesh.Message{Of: "wamid.OUT0001"}), func(r *botmesh.Record) { r.Type = botmesh.TypeReaction })},
		"group_text": {with(text1("IN0010", "who is in"), func(r *botmesh.Record) {
			byIvo(r)
			r.Chat = botmesh.ChatKey{Provider: ID, Chat: "group:R3JvdXBGaWVsZA", Participant: ivo}
		})},
		"escaped": {with(text1("IN0031", "äöå 👩‍👩‍👧‍👦🏳️‍🌈👍🏽🇺🇳 مرحبا كيف حالك؟ \u200fשלום 123 abc \u202eevil\u202c https://example.com/a?b=1&c=<d>@%"),
			func(r *botmesh.Record) { r.Message.UserName = "Zoë Ñandú" })},
		"opted_out":     {chose(t, "opted_out", botmesh.TypeOptOut)},
		"opted_in":      {chose(t, "opted_in", botmesh.TypeOptIn)},
		"status_sent":   {with(statusOf("OUT0001", "sent", 10), func(r *botmesh.Record) { r.Message.Part = "whatsapp.15550170023/e.7/0.0" })},
		"status_failed": {with(statusOf("OUT0002", "failed", 10), func(r *botmesh.Record) { r.Message.Text = "131047 Re-engagement message" })},
		"status_in_group": {with(statusOf("OUT0009", "delivered", 30), func(r *botmesh.Record) {
			r.Chat, r.User, r.ID = key("group:R3JvdXBGaWVsZA"), "15550170024", r.ID+"/15550170024"
		})},
		"echo_of_owner": {{
			Type: botmesh.TypeEvent, ID: testNumber + "/wamid.ECHO1", Chat: key(nora), SentAt: noon.Add(40 * time.Second),
			Message: botmesh.Message{Text: "the owner answers himself", MessageID: "wamid.ECHO1"},
		}},
		"batch_of_three_numbers": {
			text1("IN0020", "first"),
			with(text1("IN0021", "second"), func(r *botmesh.Record) { r.SentAt = noon.Add(time.Second) }),
			with(text1("IN0022", "Ivo here"), func(r *botmesh.Record) { byIvo(r); r.SentAt = noon.Add(time.Second) }),
			with(text1("IN0023", "to number two"), other("700100200300401", 2)),
			with(text1("IN0024", "to number three"), func(r *botmesh.Record) {
				r.Chat, r.User, r.Message.UserName = key("US.70030000000000000003"), "US.70030000000000000003", "Ada Field"
				other("700100200300402", 3)(r)
			}),
		},
		"batch_of_messages_and_statuses": {text1("IN0025", "hello"), statusOf("OUT0004", "delivered", 10),
			with(statusOf("OUT0005", "failed", 10), func(r *botmesh.Record) { r.Message.Text = "131026 Message undeliverable" })},
		"batch_with_a_broken_item": {
			text1("IN0026", "fine"),
			with(broken(testNumber+"/wamid.BAD"), func(r *botmesh.Record) { r.Message.MessageID = "wamid.BAD" }),
			text1("IN0027", "fine too"),
		},
		"duplicate_in_other_batch": {text1("IN0028", "next"), text1("IN0001", "is the blue one in stock")},
	}
}

func samples(t testing.TB) []providertest.Sample {
	var out []providertest.Sample
	for name, recs := range want(t) {
		body := read(t, name)
		out = append(out, providertest.Sample{Name: name, Header: whatsapptest.Sign(testSecret, body), Body: body, Want: recs})
	}
	return out
}

// SPEC: X1 J3 J9
func TestReceiver(t *testing.T) {
	t.Parallel()
	all := samples(t)
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	answers, err := filepath.Glob("testdata/answer_*.json")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(all), len(files)-len(answers); got != want {
		t.Errorf("got %d samples with what they become, want all %d", got, want)
	}
	providertest.Receiver(t, newReceiver(t, testNumber), all, SignatureHeader)
	providertest.SignedBody(t, newReceiver(t, testNumber), all)
	signed := func(name, body string) providertest.Sample {
		return providertest.Sample{Name: name, Header: whatsapptest.Sign(testSecret, []byte(body)), Body: []byte(body)}
	}
	providertest.Unknown(t, newReceiver(t, testNumber),
		signed("a type of message", messageOf(`"type":"dream","dream":{}`)), signed("a field", webhookOf("account_update", `{"event":"VERIFIED"}`)),
		signed("a choice", webhookOf("user_preferences", `{"metadata":{"phone_number_id":"7"},"user_preferences":[{"wa_id":"155","category":"dreams","value":"pause","timestamp":5}]}`)))
	providertest.Own(t, newReceiver(t, testNumber), signed("of the owner", string(read(t, "echo_of_owner"))))
}

// SPEC: J2 J3
func TestBatches(t *testing.T) {
	t.Parallel()
	items := []whatsapptest.Item{
		whatsapptest.Text("wamid.1", noraPhone, "first"), whatsapptest.Text("wamid.2", "", "from nobody"), whatsapptest.Text("wamid.3", ivo, "other"),
		whatsapptest.Status("wamid.0", noraPhone, "read"), whatsapptest.Text("wamid.4", noraPhone, "second"),
	}
	b := providertest.Batch{Post: func(of ...int) (http.Header, []byte) {
		var chosen []whatsapptest.Item
		for _, i := range of {
			chosen = append(chosen, items[i])
		}
		body := whatsapptest.Webhook(testNumber, chosen...)
		return whatsapptest.Sign(testSecret, body), body
	}}
	at := time.Unix(1796000000, 0).UTC()
	item := func(typ botmesh.RecordType, id, user string, m botmesh.Message) {
		rec := botmesh.Record{Type: typ, ID: testNumber + "/" + id, Chat: key(cmp.Or(user, "-")), User: user, SentAt: at, Message: m}
		b.Want = append(b.Want, []botmesh.Record{rec})
	}
	item(botmesh.TypeMessage, "wamid.1", noraPhone, botmesh.Message{Text: "first", MessageID: "wamid.1"})
	item(botmesh.TypeEvent, "wamid.2", "", botmesh.Message{Text: "from nobody", MessageID: "wamid.2"})
	item(botmesh.TypeMessage, "wamid.3", ivo, botmesh.Message{Text: "other", MessageID: "wamid.3"})
	item(botmesh.TypeStatus, "wamid.0/read", noraPhone, botmesh.Message{Of: "wamid.0", Status: "read"})
	item(botmesh.TypeMessage, "wamid.4", noraPhone, botmesh.Message{Text: "second", MessageID: "wamid.4"})
	providertest.Batches(t, newReceiver(t, testNumber), b)
}

// The signature of the sample was made by another program than these.
func TestSignatureIsThePlatforms(t *testing.T) {
	t.Parallel()
	h := http.Header{SignatureHeader: {"sha256=57dce666c1878895eb2dbab4f5f710431140517412e293242b3c83ab28379622"}}
	if err := newReceiver(t, "").Verify(h, read(t, "escaped")); err != nil {
		t.Errorf("got %v, want the signature taken", err)
	}
}

// What a test sends is what the platform sends.
func TestWebhooksOfTheFake(t *testing.T) {
	t.Parallel()
	at := time.Unix(1796000000, 0).UTC()
	body := whatsapptest.Webhook(testNumber,
		whatsapptest.Text("wamid.1", noraPhone, "a/b é 😀"), whatsapptest.Press("wamid.2", noraPhone, "wamid.0", "yes"),
		whatsapptest.Status("wamid.0", noraPhone, "read"))
	rec := func(typ botmesh.RecordType, id string, m botmesh.Message) botmesh.Record {
		return botmesh.Record{Type: typ, ID: testNumber + "/" + id, Chat: key(noraPhone), User: noraPhone, SentAt: at, Message: m}
	}
	providertest.Receiver(t, newReceiver(t, testNumber), []providertest.Sample{{
		Name: "Webhook", Header: whatsapptest.Sign(testSecret, body), Body: body,
		Want: []botmesh.Record{
			rec(botmesh.TypeMessage, "wamid.1", botmesh.Message{Text: "a/b é 😀", MessageID: "wamid.1"}),
			rec(botmesh.TypeCallback, "wamid.2", botmesh.Message{Payload: "yes", Text: "yes", Of: "wamid.0", MessageID: "wamid.2"}),
			rec(botmesh.TypeStatus, "wamid.0/read", botmesh.Message{Of: "wamid.0", Status: "read"}),
		},
	}}, SignatureHeader)
	for _, part := range []string{`a\/b`, `\u00e9`, `\ud83d\ude00`} {
		if !strings.Contains(string(body), part) {
			t.Errorf("got %s, want it escaped as %s", body, part)
		}
	}
}

// SPEC: X1
func TestHandshake(t *testing.T) {
	t.Parallel()
	const good = "hub.mode=subscribe&hub.verify_token=" + testVerify + "&hub.challenge=4711"
	for name, c := range map[string]struct {
		query string
		want  string
	}{
		"Good":        {good, "4711"},
		"WrongToken":  {strings.Replace(good, testVerify, testVerify+"x", 1), ""},
		"NoToken":     {"hub.mode=subscribe&hub.challenge=4711", ""},
		"WrongMode":   {strings.Replace(good, "subscribe", "unsubscribe", 1), ""},
		"NoChallenge": {strings.Replace(good, "4711", "", 1), ""},
		"Long":        {good + strings.Repeat("1", 1024), ""},
		"Nothing":     {"", ""},
	} {
		query, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := newReceiver(t, "").Handshake(query); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, c.want)
		}
	}
	without, err := NewReceiver(ReceiverConfig{AppSecret: testSecret})
	if err != nil {
		t.Fatal(err)
	}
	query := url.Values{"hub.mode": {"subscribe"}, "hub.challenge": {"1"}, "hub.verify_token": {""}}
	if got, err := without.Handshake(query); err == nil {
		t.Errorf("without a token: got %q, want an error", got)
	}
}

func TestNewReceiverNamesAllFaults(t *testing.T) {
	t.Parallel()
	_, err := NewReceiver(ReceiverConfig{ID: "Whats App", PhoneNumberID: "+1 555", MaxBody: -1})
	for _, word := range []string{"Whats App", "app secret", "digits", "negative"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("got %v, want it to name %q", err, word)
		}
	}
}

func FuzzParse(f *testing.F) {
	var seeds [][]byte
	for _, s := range samples(f) {
		seeds = append(seeds, s.Body)
	}
	seeds = append(seeds, []byte(`{"object":"whatsapp_business_account","entry":[1,{"changes":[2,{"field":"messages","value":{"messages":[3,{"id":"a"},{"id":"a","from":"1"}],"statuses":[{"id":""}]}}]}]}`))
	providertest.FuzzParse(f, newReceiver(f, testNumber), nil, seeds...)
}
