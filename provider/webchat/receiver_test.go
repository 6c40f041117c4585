package webchat

import (
	"net/http"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider/providertest"
)

// SPEC: X1
func TestReceiver(t *testing.T) {
	t.Parallel()
	c := newTestChat(t, Config{})
	const chat = "CHATONE"
	key := botmesh.ChatKey{Provider: "webchat", Chat: chat}
	sig := c.sign(asButton, chat, "x/1", "order:yes")
	providertest.Receiver(t, c, []providertest.Sample{
		{
			Name: "Text", Header: pageHeader(c, chat), Body: formBody("chat", chat, "id", "0123-abc", "text", " zwei Pizzen\r\nbitte 🍕 "),
			Want: []botmesh.Record{{
				Type: botmesh.TypeMessage, ID: chat + "/0123-abc", Chat: key, User: chat,
				Message: botmesh.Message{Text: "zwei Pizzen\nbitte 🍕", MessageID: "0123-abc", Locale: "de-AT"},
			}},
		},
		{
			Name: "Button", Header: pageHeader(c, chat), Body: formBody("chat", chat, "id", "0123-abd", "payload", "order:yes", "sig", sig, "of", "x/1"),
			Want: []botmesh.Record{{
				Type: botmesh.TypeCallback, ID: chat + "/0123-abd", Chat: key, User: chat,
				Message: botmesh.Message{Payload: "order:yes", Of: "x/1", MessageID: "0123-abd", Locale: "de-AT"},
			}},
		},
		{
			Name: "LinesInPayload", Header: pageHeader(c, chat),
			Body: formBody("chat", chat, "id", "0123-abf", "payload", "note:hi\nadmin", "sig", c.sign(asButton, chat, "x/1", "note:hi\nadmin"), "of", "x/1"),
			Want: []botmesh.Record{{
				Type: botmesh.TypeCallback, ID: chat + "/0123-abf", Chat: key, User: chat,
				Message: botmesh.Message{Payload: "note:hi\nadmin", Of: "x/1", MessageID: "0123-abf", Locale: "de-AT"},
			}},
		},
		{
			Name: "Longest", Header: pageHeader(c, chat), Body: formBody("chat", chat, "id", "0123-abe", "text", strings.Repeat("😀", MaxText)),
			Want: []botmesh.Record{{
				Type: botmesh.TypeMessage, ID: chat + "/0123-abe", Chat: key, User: chat,
				Message: botmesh.Message{Text: strings.Repeat("😀", MaxText), MessageID: "0123-abe", Locale: "de-AT"},
			}},
		},
	}, "Cookie", "Sec-Fetch-Site")
	if n := int64(len(formBody("chat", chat, "id", strings.Repeat("a", 64), "text", strings.Repeat("😀", MaxText)))); n > c.MaxBody() {
		t.Errorf("got a longest form of %d bytes, want it within the bound of %d", n, c.MaxBody())
	}
}

// SPEC: X2
func TestParseNamesTheFault(t *testing.T) {
	t.Parallel()
	c := newTestChat(t, Config{})
	const chat, id = "CHATONE", "0123-abc"
	form := http.Header{"Content-Type": {formType}}
	for name, x := range map[string]struct {
		change http.Header
		body   []byte
		want   string
	}{
		"NotAForm":             {http.Header{"Content-Type": {"text/plain"}}, formBody("chat", chat, "id", id, "text", "a"), "not a form"},
		"BrokenForm":           {form, []byte("text=%zz"), "form is broken"},
		"OtherChat":            {form, formBody("chat", "CHATTWO", "id", id, "text", "a"), "another session"},
		"NoID":                 {form, formBody("chat", chat, "text", "a"), "id is not"},
		"StrangeID":            {form, formBody("chat", chat, "id", "a.b.c.d.e.f", "text", "a"), "id is not"},
		"LongID":               {form, formBody("chat", chat, "id", strings.Repeat("a", 65), "text", "a"), "id is not"},
		"NoText":               {form, formBody("chat", chat, "id", id), "text is empty"},
		"BlankText":            {form, formBody("chat", chat, "id", id, "text", " \r\n "), "text is empty"},
		"LongText":             {form, formBody("chat", chat, "id", id, "text", strings.Repeat("a", MaxText+1)), "over 4096"},
		"NotUTF8":              {form, formBody("chat", chat, "id", id, "text", "a\xff"), "not UTF-8"},
		"UnsignedButton":       {form, formBody("chat", chat, "id", id, "payload", "admin"), "not a button"},
		"ForgedButton":         {form, formBody("chat", chat, "id", id, "payload", "admin", "sig", c.sign(asButton, chat, "", "user")), "not a button"},
		"ButtonOfOtherMessage": {form, formBody("chat", chat, "id", id, "payload", "admin", "of", "p2", "sig", c.sign(asButton, chat, "p1", "admin")), "not a button"},
		"ButtonOfOther":        {form, formBody("chat", chat, "id", id, "payload", "admin", "sig", c.sign(asButton, "CHATTWO", "", "admin")), "not a button"},
		"EndOfOfferedPayload":  {form, formBody("chat", chat, "id", id, "payload", "admin", "of", "p1\nnote:hi", "sig", c.sign(asButton, chat, "p1", "note:hi\nadmin")), "not a button"},
		"SessionAsSig":         {form, formBody("chat", chat, "id", id, "payload", "1", "sig", c.sign(asSession, chat, "", "1")), "not a button"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := pageHeader(c, chat)
			for k, v := range x.change {
				h[k] = v
			}
			if recs, err := c.Parse(h, x.body); err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("got %v, %v, want an error with %q", recs, err, x.want)
			}
		})
	}
}

func TestLocale(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"": "", "en": "en", "pt-BR;q=0.9": "pt-BR", " sr-Latn-RS , en": "sr-Latn-RS", "*": "", "<script>": "", "x\r\ny": "",
	} {
		if got := locale(http.Header{"Accept-Language": {header}}); got != want {
			t.Errorf("%q: got %q, want %q", header, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	c := newTestChat(f, Config{})
	providertest.FuzzParse(f, c, pageHeader(c, "CHATONE"),
		formBody("chat", "CHATONE", "id", "0123-abc", "text", "a"),
		formBody("chat", "CHATONE", "id", "0123-abc", "payload", "a", "sig", c.sign(asButton, "CHATONE", "p", "a"), "of", "p"),
		[]byte("a=%zz&;"))
}
