package whatsapp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider/providertest"
)

// value is a webhook with that value of the field.
func webhookOf(field, value string) string {
	return `{"object":"whatsapp_business_account","entry":[{"id":"1","time":5,"changes":[{"field":"` + field + `","value":` + value + `}]}]}`
}

func messageOf(fields string) string {
	return webhookOf("messages", `{"metadata":{"phone_number_id":"7"},"messages":[{"id":"m","from":"155",`+fields+`}]}`)
}

func parse(t *testing.T, body string) []botmesh.Record {
	t.Helper()
	r := newReceiver(t, "")
	recs, err := r.Parse(nil, []byte(body))
	if err != nil {
		t.Fatalf("got %v, want no error for %s", err, body)
	}
	if err := providertest.Check(r, recs); err != nil {
		t.Errorf("%v, of %s", err, body)
	}
	return recs
}

// SPEC: J9 X2
func TestParseKinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body          string
		typ           botmesh.RecordType
		chat          string
		text, payload string
	}{
		"Press":        {messageOf(`"type":"interactive","interactive":{"type":"button_reply","button_reply":{"id":"y","title":"Yes"}}`), botmesh.TypeCallback, "155", "Yes", "y"},
		"Pick":         {messageOf(`"type":"interactive","interactive":{"type":"list_reply","list_reply":{"id":"y","title":"Yes"}}`), botmesh.TypeCallback, "155", "Yes", "y"},
		"Form":         {messageOf(`"type":"interactive","interactive":{"type":"nfm_reply","nfm_reply":{"body":"Sent","response_json":"{}"}}`), botmesh.TypeCallback, "155", "Sent", "{}"},
		"NewAnswer":    {messageOf(`"type":"interactive","interactive":{"type":"dream"}`), botmesh.TypeEvent, "155", "", ""},
		"Edit":         {messageOf(`"type":"edit","edit":{"original_message_id":"o","message":{"type":"text","text":{"body":"b"}}}`), botmesh.TypeEdit, "155", "b", ""},
		"Location":     {messageOf(`"type":"location","location":{"latitude":1}`), botmesh.TypeMessage, "155", "", ""},
		"NumberChange": {messageOf(`"type":"system","system":{"type":"user_changed_number"}`), botmesh.TypeEvent, "155", "", ""},
		"NewType":      {messageOf(`"type":"dream","dream":{}`), botmesh.TypeEvent, "155", "", ""},
		"Misfit":       {messageOf(`"type":"text","text":"b"`), botmesh.TypeEvent, "155", "", ""},
		"NewField":     {webhookOf("account_update", `{"event":"VERIFIED"}`), botmesh.TypeEvent, "-", "", ""},
		"Errors":       {webhookOf("messages", `{"errors":[{"code":1}]}`), botmesh.TypeEvent, "-", "", ""},
		"NoEntry":      {`{"object":"whatsapp_business_account","entry":[7]}`, botmesh.TypeEvent, "-", "", ""},
		"NoList":       {`{"object":"whatsapp_business_account","entry":7}`, botmesh.TypeEvent, "-", "", ""},
		"StatusBroken": {webhookOf("messages", `{"statuses":[{"id":"m"}]}`), botmesh.TypeEvent, "-", "", ""},
		"StatusOfNone": {webhookOf("messages", `{"statuses":[{"id":"m","status":"read"}]}`), botmesh.TypeEvent, "-", "", ""},
		"EchoBroken":   {webhookOf("smb_message_echoes", `{"message_echoes":[{"to":"155"}]}`), botmesh.TypeEvent, "-", "", ""},
		"HugeGroup":    {messageOf(`"type":"text","group_id":"` + strings.Repeat("g", 500) + `"`), botmesh.TypeEvent, "-", "", ""},
		"HugeText":     {messageOf(`"type":"text","text":{"body":"` + strings.Repeat("x", 300<<10) + `"}`), botmesh.TypeEvent, "155", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recs := parse(t, c.body)
			if len(recs) != 1 {
				t.Fatalf("got %d records, want one", len(recs))
			}
			if r := recs[0]; r.Type != c.typ || r.Chat.Chat != c.chat || r.Message.Text != c.text || r.Message.Payload != c.payload || len(r.Raw) == 0 {
				t.Errorf("got %s of %v with %q and %q, want %s of %s with %q and %q", r.Type, r.Chat, r.Message.Text, r.Message.Payload, c.typ, c.chat, c.text, c.payload)
			}
		})
	}
}

func TestParseRefusesWhatIsNoWebhook(t *testing.T) {
	t.Parallel()
	items := strings.TrimSuffix(strings.Repeat(`{},`, maxItems+2), ",")
	many := func() string {
		var b strings.Builder
		for i := range maxItems + 1 {
			fmt.Fprintf(&b, `{"id":"m%d"},`, i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}()
	for want, body := range map[string]string{
		"empty":       "",
		"not a JSON":  `[]`,
		"broken JSON": `{"object":`,
		"deeper than": strings.Repeat(`{"a":`, 70),
		"over 2000":   webhookOf("messages", `{"messages":[`+many+`]}`),
	} {
		if recs, err := newReceiver(t, "").Parse(nil, []byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %d records, %v, want an error with %q", len(recs), err, want)
		}
	}
	// What is there twice is one record.
	if recs := parse(t, webhookOf("messages", `{"messages":[`+items+`]}`)); len(recs) != 1 {
		t.Errorf("got %d records of the same item, want one", len(recs))
	}
}

// A repeated change is one event, and two of the same words are two.
func TestEventsAreToldApart(t *testing.T) {
	t.Parallel()
	a := webhookOf("account_update", `{"event":"VERIFIED"}`)
	b := strings.Replace(a, `"time":5`, `"time":6`, 1)
	first, again, later := parse(t, a)[0].ID, parse(t, a)[0].ID, parse(t, b)[0].ID
	if first != again || first == later {
		t.Errorf("got the ids %q, %q and %q, want the first two alike only", first, again, later)
	}
}

func TestAddressRoundTrip(t *testing.T) {
	t.Parallel()
	for _, a := range []address{
		{to: "15550170023"}, {to: nora}, {to: "US.ENT.11815799212886844830"}, {to: "R3Jv/d=", group: true}, {to: nora, number: "7"}, {to: "x", group: true, number: "7"},
	} {
		if got, err := parseAddress(a.String()); err != nil || got != a {
			t.Errorf("%q: got %+v, %v, want %+v", a, got, err, a)
		}
	}
	for _, s := range []string{"", "-", "+155", "us.1", "group:", "@1", "x@1", "7@", "7@group:", "US."} {
		if got, err := parseAddress(s); err == nil {
			t.Errorf("%q: got %+v, want an error", s, got)
		}
	}
}
