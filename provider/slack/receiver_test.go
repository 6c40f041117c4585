package slack

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/providertest"
	"github.com/botmesh-go/botmesh/provider/slack/slacktest"
)

func said(stamp string, k botmesh.ChatKey, m botmesh.Message) botmesh.Record {
	m.MessageID = stamp
	channel, _, _ := strings.Cut(k.Chat, "/")
	return botmesh.Record{Type: botmesh.TypeMessage, ID: team + ":" + channel + ":" + stamp, Chat: k, User: nora, SentAt: moment(stamp), Message: m}
}

func samples(t testing.TB) []providertest.Sample {
	want := map[string]botmesh.Record{
		"direct_message.json":       said("1797000000.000100", direct(dm), botmesh.Message{Text: "tea & milk <hot>"}),
		"message_of_a_mention.json": said("1797000020.000300", in(hall, nora), botmesh.Message{Text: "open today?"}),
		"file.json":                 said("1797000060.000900", direct(dm), botmesh.Message{Media: []botmesh.Media{{Kind: "image", Ref: "F0FILE001", Type: "image/png", Size: 1203}}}),
		"thread_and_channel.json":   said("1797000061.000910", in(hall+"/1797000000.000050", nora), botmesh.Message{Text: "told to all"}),
		"long_text.json":            said("1797000110.001400", direct(dm), botmesh.Message{Text: strings.Repeat("pebble ", 2000)}),
		"deleted.json": {
			Type: botmesh.TypeDelete, ID: team + ":" + hall + ":1797000010.000200:deleted", Chat: in(hall, nora), User: nora,
			SentAt: moment("1797000050.000600"), Message: botmesh.Message{Of: "1797000010.000200"},
		},
		"press.form": {
			Type: botmesh.TypeCallback, ID: team + ":" + dm + ":1797000055.000700:1797000120.001500", Chat: direct(dm), User: nora,
			SentAt:  moment("1797000120.001500"),
			Message: botmesh.Message{Payload: "basket:4", Text: "Place", Of: "1797000055.000700", UserName: "nora"},
		},
	}
	other := said("1797000090.001200", in("C0SHARED1", "T0OTHER01:U0IVO0001"), botmesh.Message{Text: "hello neighbours"})
	other.User = "T0OTHER01:U0IVO0001"
	want["of_another_workspace.json"] = other
	var out []providertest.Sample
	for name, rec := range want {
		body := read(t, name)
		out = append(out, providertest.Sample{Name: name, Header: slacktest.Sign(testSecret, noon, body), Body: body, Want: []botmesh.Record{rec}})
	}
	return out
}

// SPEC: X1 J9
func TestReceiver(t *testing.T) {
	t.Parallel()
	all := samples(t)
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	answers, err := filepath.Glob("testdata/answer_*")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(all), len(files)-len(answers); got != want {
		t.Errorf("got %d samples with what they become, want all %d", got, want)
	}
	r := receiverAt(t, noon)
	providertest.Receiver(t, r, all, SignatureHeader, TimestampHeader)
	providertest.SignedBody(t, r, all)
	providertest.Stale(t, func(now time.Time) provider.Receiver { return receiverAt(t, now) }, all[0], noon, Tolerance)
	signed := func(name, typ, fields string) providertest.Sample {
		body := []byte(eventOf(t, typ, fields))
		return providertest.Sample{Name: name, Header: slacktest.Sign(testSecret, noon, body), Body: body}
	}
	const said = `"channel":"C0HALL001","ts":"1797000000.000100","event_ts":"1797000000.000100","text":"a",`
	providertest.Unknown(t, r,
		signed("an event", "channel_created", `"event_ts":"1.1","channel":{"id":"C1"}`), signed("a subtype", "message", said+`"user":"U0NORA001","subtype":"dream"`))
	providertest.Own(t, r,
		signed("of the bot", "message", said+`"user":"U0BOT0001","bot_id":"B1"`), signed("of the app", "message", said+`"user":"U0XXX","bot_id":"B1","app_id":"A0TEST001"`),
		signed("of another bot", "message", said+`"user":"U0XXX","bot_id":"B2","app_id":"A2"`),
		signed("a reaction", "reaction_added", `"user":"U0BOT0001","reaction":"eyes","event_ts":"1.1","item":{"channel":"C0HALL001","ts":"1.1"}`))
}

// The signature was made by another program than these.
func TestSignatureIsThePlatforms(t *testing.T) {
	t.Parallel()
	h := http.Header{TimestampHeader: {"1797000000"}, SignatureHeader: {"v0=07cc18174975811143578b9ba747bd4ec0a57175b2c861610b0ba6afb8308082"}}
	if err := receiverAt(t, noon).Verify(h, read(t, "direct_message.json")); err != nil {
		t.Errorf("got %v, want the signature taken", err)
	}
}

// What a test sends is what Slack sends.
func TestRequestsOfTheFake(t *testing.T) {
	t.Parallel()
	sample := func(name string, body []byte, want botmesh.Record) providertest.Sample {
		return providertest.Sample{Name: name, Header: slacktest.Sign(testSecret, noon, body), Body: body, Want: []botmesh.Record{want}}
	}
	const stamp = "1797000000.000100"
	providertest.Receiver(t, receiverAt(t, noon), []providertest.Sample{
		sample("Text", slacktest.Text(dm, nora, stamp, "hi"), said(stamp, direct(dm), botmesh.Message{Text: "hi"})),
		sample("Press", slacktest.Press(hall, nora, "1797000000.000001", stamp, "yes"), botmesh.Record{
			Type: botmesh.TypeCallback, ID: team + ":" + hall + ":1797000000.000001:" + stamp, Chat: in(hall, nora), User: nora, SentAt: moment(stamp),
			Message: botmesh.Message{Payload: "yes", Of: "1797000000.000001"},
		}),
		sample("Command", slacktest.Command(hall, nora, "1.2.3", "/order", "tea &amp; milk"), botmesh.Record{
			Type: botmesh.TypeMessage, ID: team + ":command:1.2.3", Chat: in(hall, nora), User: nora,
			Message: botmesh.Message{Text: "/order tea & milk"},
		}),
	}, SignatureHeader, TimestampHeader)
}

func TestVerification(t *testing.T) {
	t.Parallel()
	r := receiverAt(t, noon)
	body := []byte(`{"type":"url_verification","token":"x","challenge":"3eZbrw\"1aB"}`)
	recs, err := r.Parse(nil, body)
	if err != nil || len(recs) != 0 {
		t.Errorf("got %v, %v, want no records", recs, err)
	}
	var got struct {
		Challenge string `json:"challenge"`
	}
	if err := json.Unmarshal(r.Answer(body), &got); err != nil || got.Challenge != `3eZbrw"1aB` {
		t.Errorf("got %q, %v, want the challenge", got.Challenge, err)
	}
	for _, body := range [][]byte{read(t, "direct_message.json"), read(t, "press.form"), nil, []byte(`{"type":"url_verification"}`)} {
		if a := r.Answer(body); a != nil {
			t.Errorf("got the answer %s, want none", a)
		}
	}
}

func TestNewReceiverNamesAllFaults(t *testing.T) {
	t.Parallel()
	_, err := NewReceiver(ReceiverConfig{ID: "Sl ack", MaxBody: -1})
	for _, word := range []string{"Sl ack", "signing secret", "negative"} {
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
	providertest.FuzzParse(f, receiverAt(f, noon), nil, seeds...)
}

func FuzzParseForm(f *testing.F) {
	providertest.FuzzParse(f, receiverAt(f, noon), http.Header{"Content-Type": {formType}}, read(f, "press.form"),
		slacktest.Command(hall, nora, "1.2.3", "/order", "tea"), []byte("ssl_check=1"), []byte("payload=%7B%7D"), []byte("a=%zz"))
}
