package standardwebhooks

import (
	"crypto/ed25519"
	"encoding/base64"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/providertest"
)

func samples(t testing.TB) []providertest.Sample {
	rec := func(id string, typ botmesh.RecordType, m botmesh.Message) botmesh.Record {
		return botmesh.Record{
			Type: typ, ID: id, Chat: botmesh.ChatKey{Provider: ID, Chat: "c-17"}, User: "u-4",
			SentAt: time.Date(2026, 12, 1, 9, 30, 0, 0, time.UTC), Message: m,
		}
	}
	message := rec("msg_1", botmesh.TypeMessage, botmesh.Message{Text: "is it open", MessageID: "m-1"})
	message.SentAt = message.SentAt.Add(500 * time.Millisecond)
	room := rec("msg_2", botmesh.TypeMessage, botmesh.Message{
		Text: "in a room", MessageID: "m-2", UserName: "Nora", Locale: "en", ReplyTo: "m-1",
		Media: []botmesh.Media{{Kind: "image", Ref: "f-1", Type: "image/png", Size: 12}},
	})
	room.Chat.Participant = "u-4"
	thin := rec("msg_3", botmesh.TypeEvent, botmesh.Message{MessageID: "m-3", Unsupported: true})
	thin.Chat.Chat, thin.User = "-", ""
	status := rec("msg_6", botmesh.TypeStatus, botmesh.Message{Of: "msg_1", Status: "read"})
	status.User = ""
	var out []providertest.Sample
	for name, want := range map[string]botmesh.Record{
		"message":            message,
		"two_signatures":     room,
		"thin":               thin,
		"press":              rec("msg_4", botmesh.TypeCallback, botmesh.Message{Payload: "yes", Of: "msg_1", Text: "Yes"}),
		"numbers_and_spaces": rec("msg_5", botmesh.TypeMessage, botmesh.Message{Text: "👩‍👩‍👧‍👦🏳️‍🌈 مرحبا \u200fשלום <&>", MessageID: "m-5"}),
		"status":             status,
		"opted_out":          rec("msg_7", botmesh.TypeOptOut, botmesh.Message{Status: "reminders"}),
	} {
		body := read(t, name)
		out = append(out, providertest.Sample{Name: name, Header: header(t, want.ID, body), Body: body, Want: []botmesh.Record{want}})
	}
	return out
}

// SPEC: X1 J9
func TestReceiver(t *testing.T) {
	t.Parallel()
	all := samples(t)
	if files, err := filepath.Glob("testdata/*.json"); err != nil || len(files) != len(all) {
		t.Errorf("got %d samples with what they become, %v, want all %d", len(all), err, len(files))
	}
	r := receiverAt(t, noon, secret)
	providertest.Receiver(t, r, all, SignatureHeader, TimestampHeader, IDHeader)
	providertest.SignedBody(t, r, all)
	providertest.Stale(t, func(now time.Time) provider.Receiver { return receiverAt(t, now, secret) }, all[0], noon, Tolerance)
	var unknown []providertest.Sample
	for name, body := range map[string]string{
		"a type": `{"type":"dream.dreamt","timestamp":"2026-12-01T09:30:00Z","data":{"conversation":"c-17","user":"u-4","text":"a"}}`, "no type": `{}`,
	} {
		unknown = append(unknown, providertest.Sample{Name: name, Header: header(t, "msg_1", []byte(body)), Body: []byte(body)})
	}
	providertest.Unknown(t, r, unknown...)
}

// The signature was made by another program than this.
func TestSignatureIsTheStandards(t *testing.T) {
	t.Parallel()
	h := http.Header{IDHeader: {"msg_1"}, TimestampHeader: {"1797000000"}, SignatureHeader: {"v1,6mS//S0BhwfLCRktntzvizSRHtKtMANRcCxP3gehuME="}}
	if err := receiverAt(t, noon, secret).Verify(h, read(t, "message")); err != nil {
		t.Errorf("got %v, want the signature taken", err)
	}
}

// SPEC: X1
func TestKeysCanBeReplaced(t *testing.T) {
	t.Parallel()
	body := read(t, "message")
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	publicKey := "whpk_" + base64.StdEncoding.EncodeToString(public)
	good := header(t, "msg_1", body).Get(SignatureHeader)
	byKey := "v1a," + base64.StdEncoding.EncodeToString(ed25519.Sign(private, []byte("msg_1.1797000000."+string(body))))
	wrong := "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	for name, c := range map[string]struct {
		keys, signatures string
		good             bool
	}{
		"OldAndNewSecret":    {other + " " + secret, good, true},
		"OtherSecret":        {other, good, false},
		"OldAndNewSignature": {secret, wrong + " v1a,ignored " + good, true},
		"NewAndOldSignature": {secret + " " + other, good + " " + wrong, true},
		"TooManySignatures":  {secret, strings.Repeat(wrong+" ", maxSignatures) + good, false},
		"PublicKey":          {publicKey, byKey, true},
		"PublicKeyAndSecret": {publicKey + " " + secret, good, true},
		"NotByTheKey":        {publicKey, good, false},
		"NotBySecret":        {secret, byKey, false},
		"BrokenKeySignature": {publicKey, "v1a,AAAA", false},
		"OtherVersion":       {secret, "v2," + strings.TrimPrefix(good, "v1,"), false},
	} {
		h := http.Header{IDHeader: {"msg_1"}, TimestampHeader: {"1797000000"}, SignatureHeader: {c.signatures}}
		if err := receiverAt(t, noon, c.keys).Verify(h, body); (err == nil) != c.good {
			t.Errorf("%s: got %v, want it taken %v", name, err, c.good)
		}
	}
}

// SPEC: J2
func TestARepetitionHasTheSameID(t *testing.T) {
	t.Parallel()
	body := read(t, "message")
	again, err := Sign(secret, "msg_1", noon.Add(5*time.Minute), body)
	if err != nil {
		t.Fatal(err)
	}
	r := receiverAt(t, noon.Add(time.Minute), secret)
	if err := r.Verify(again, body); err != nil {
		t.Fatal(err)
	}
	a, err := r.Parse(header(t, "msg_1", body), body)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := r.Parse(again, body); err != nil || a[0].ID != b[0].ID {
		t.Errorf("got the ids %q and %q, %v, want the same", a[0].ID, b[0].ID, err)
	}
}

// SPEC: J9 X2
func TestParseKinds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 201)
	for name, c := range map[string]struct {
		body string
		typ  botmesh.RecordType
		chat string
		of   string
	}{
		"Edit":        {`{"type":"message.updated","data":{"conversation":"c","id":"m"}}`, botmesh.TypeEdit, "c", "m"},
		"Delete":      {`{"type":"message.deleted","data":{"conversation":"c","id":"m"}}`, botmesh.TypeDelete, "c", "m"},
		"Reaction":    {`{"type":"reaction.created","data":{"conversation":"c","of":"m"}}`, botmesh.TypeReaction, "c", "m"},
		"OptIn":       {`{"type":"user.opted_in","data":{"conversation":"c"}}`, botmesh.TypeOptIn, "c", ""},
		"NewType":     {`{"type":"invoice.paid","data":{"conversation":"c"}}`, botmesh.TypeEvent, "c", ""},
		"OurOwn":      {`{"type":"message.send","data":{"conversation":"c","text":"a"}}`, botmesh.TypeEvent, "c", ""},
		"Misfit":      {`{"type":"message.created","data":{"conversation":"c","text":7}}`, botmesh.TypeEvent, "c", ""},
		"DataIsAList": {`{"type":"message.created","data":[]}`, botmesh.TypeEvent, "-", ""},
		"LongChat":    {`{"type":"message.created","data":{"conversation":"` + long + `"}}`, botmesh.TypeEvent, "-", ""},
		"LongUser":    {`{"type":"message.created","data":{"conversation":"c","user":"` + long + `"}}`, botmesh.TypeEvent, "-", ""},
		"Dash":        {`{"type":"message.created","data":{"conversation":"-","text":"a"}}`, botmesh.TypeEvent, "-", ""},
		"Empty":       {`{}`, botmesh.TypeEvent, "-", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := receiverAt(t, noon, secret)
			recs, err := r.Parse(http.Header{IDHeader: {long}}, []byte(c.body))
			if err != nil || len(recs) != 1 {
				t.Fatalf("got %d records, %v, want one", len(recs), err)
			}
			if err := providertest.Check(r, recs); err != nil {
				t.Error(err)
			}
			if rec := recs[0]; rec.Type != c.typ || rec.Chat.Chat != c.chat || rec.Message.Of != c.of {
				t.Errorf("got %s of %v about %q, want %s of %s about %q", rec.Type, rec.Chat, rec.Message.Of, c.typ, c.chat, c.of)
			}
		})
	}
	for _, body := range []string{"", "[]", `{"type"`} {
		if recs, err := receiverAt(t, noon, secret).Parse(nil, []byte(body)); err == nil {
			t.Errorf("%q: got %+v, want an error", body, recs)
		}
	}
	for text, kept := range map[string]bool{"2026-12-01T09:30:00+05:00": true, "0001-01-01T00:00:00Z": false, "9999-12-31T23:59:59-12:00": false, "now": false} {
		if got := moment(text); got.IsZero() == kept {
			t.Errorf("%s: got %v, want it kept %v", text, got, kept)
		}
	}
}

func TestNewReceiverNamesAllFaults(t *testing.T) {
	t.Parallel()
	_, err := NewReceiver(ReceiverConfig{ID: "A backend", Secret: "whsec_c2hvcnQ=", MaxBody: -1})
	for _, word := range []string{"A backend", "secret 1", "negative"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("got %v, want it to name %q", err, word)
		}
	}
	for _, bad := range []string{"", " ", "c3RhbmRhcmQ", secret + " whsec_%%", "whpk_c2hvcnQ=", strings.TrimPrefix(secret, "whsec_")} {
		if _, err := NewReceiver(ReceiverConfig{Secret: bad}); err == nil || strings.Contains(err.Error(), "c2hvcnQ") {
			t.Errorf("%q: got %v, want an error without the secret", bad, err)
		}
	}
	if _, err := Sign("whpk_"+base64.StdEncoding.EncodeToString(make([]byte, 32)), "a", noon, nil); err == nil {
		t.Error("got a signature by a public key, want an error")
	}
}

func FuzzParse(f *testing.F) {
	var seeds [][]byte
	for _, s := range samples(f) {
		seeds = append(seeds, s.Body)
	}
	providertest.FuzzParse(f, receiverAt(f, noon, secret), http.Header{IDHeader: {"msg_1"}}, seeds...)
}

// SPEC: O5 O6
func TestAFailureIsToldToItsChat(t *testing.T) {
	t.Parallel()
	r := receiverAt(t, noon, secret)
	body := []byte(`{"type":"message.status","data":{"conversation":"c-17","of":"standardwebhooks.c-17/e.7/0.0","status":"failed","text":"gone"}}`)
	recs, err := r.Parse(header(t, "msg_9", body), body)
	if err != nil || len(recs) != 2 {
		t.Fatalf("got %+v, %v, want the status and the failure", recs, err)
	}
	if err := providertest.Check(r, recs); err != nil {
		t.Error(err)
	}
	got := recs[1]
	if recs[0].Type != botmesh.TypeStatus || got.Chat.Chat != "c-17" || got.Failed == nil || got.Failed.Error != "gone" || got.Failed.Of != "standardwebhooks.c-17/e.7/0.0" {
		t.Errorf("got %+v of %v, want the failure of the part in its chat", got.Failed, got.Chat)
	}
}
