package journal

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

func TestEnvelopeKeepsEveryField(t *testing.T) {
	t.Parallel()
	long := botmesh.ChatKey{Provider: "email-1", Chat: strings.Repeat("ü", 100), Participant: "a/b c"}
	full := botmesh.Record{
		Epoch: "e1", Seq: 7, Stored: time.Unix(1700000000, 0),
		Type: botmesh.TypeCallback, ID: "<a b%41\r\nNats-TTL: 1s@ä>", Chat: chat("-100 123.>"), User: " über\x00 ",
		SentAt: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Hops: 8, RequeueOf: "e0-3", ReplayOf: "e1-2",
		Trace: map[string]string{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "a=1, b=2"},
		Message: botmesh.Message{
			Text: "<b>&\u2028", Payload: "p", MessageID: "m", Of: "o", ReplyTo: "r", Group: "g", UserName: "n", Locale: "de",
			Status: "s", Media: []botmesh.Media{{Kind: "image", Ref: "f", Type: "t", Size: 1}}, Unsupported: true,
		},
		Raw: json.RawMessage(`{"html":"<&>"}`),
	}
	for name, r := range map[string]botmesh.Record{
		"full":   full,
		"hashed": {Epoch: "e1", Seq: 7, Stored: time.Unix(1700000000, 0), Type: botmesh.TypeEvent, ID: "1", Chat: long},
		"optout": {Epoch: "e1", Seq: 7, Stored: time.Unix(1700000000, 0), Type: botmesh.TypeOptOut, ID: "1", Chat: chat("1")},
		"optin":  {Epoch: "e1", Seq: 7, Stored: time.Unix(1700000000, 0), Type: botmesh.TypeOptIn, ID: "1", Chat: chat("1")},
		"status": {Epoch: "e1", Seq: 7, Stored: time.Unix(1700000000, 0), Type: botmesh.TypeStatus, ID: "1", Chat: chat("1")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := encode(testBot, r)
			if err != nil {
				t.Fatal(err)
			}
			family := familyIn
			if r.Type == botmesh.TypeStatus {
				family = familyStatus // SPEC: J9
			}
			got := decode(family, testBot, "e1", jet.Stored{Msg: m, Seq: 7, Time: r.Stored})
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			if diff := cmp.Diff(r, got.Record); diff != "" {
				t.Errorf("record changed (-want +got):\n%s", diff)
			}
			for key, values := range m.Header {
				if s := key + values[0]; strings.ContainsAny(s, "\r\n\x00") || len(values) != 1 {
					t.Errorf("header %s: got %q, want one line", key, values) // SPEC: X2
				}
			}
		})
	}
}

func TestUnknownTypeIsAnEvent(t *testing.T) { // SPEC: J9
	t.Parallel()
	r := message(chat("1"), "1", "")
	r.Type = "poll"
	m, err := encode(testBot, r)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Header.Get(headerType); got != string(botmesh.TypeEvent) {
		t.Errorf("type: got %q, want event", got)
	}
}

func TestInvalidRecordsAreRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*botmesh.Record){
		"no id":     func(r *botmesh.Record) { r.ID = "" },
		"long id":   func(r *botmesh.Record) { r.ID = strings.Repeat("x", MaxID+1) },
		"long user": func(r *botmesh.Record) { r.User = strings.Repeat("x", MaxID+1) },
		"no chat":   func(r *botmesh.Record) { r.Chat.Chat = "" },
		"provider":  func(r *botmesh.Record) { r.Chat.Provider = "a.b" },
		"hops":      func(r *botmesh.Record) { r.Hops = -1 },
		"raw":       func(r *botmesh.Record) { r.Raw = json.RawMessage("{") },
		"year":      func(r *botmesh.Record) { r.SentAt = time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := message(chat("1"), "1", "hi")
			change(&r)
			if _, err := encode(testBot, r); !errors.Is(err, ErrInvalid) {
				t.Errorf("got %v, want ErrInvalid", err)
			}
		})
	}
}

func TestLargeBodyLosesRawFirst(t *testing.T) {
	t.Parallel()
	r := message(chat("1"), "1", "hi")
	r.Raw = json.RawMessage(`"` + strings.Repeat("x", MaxBody) + `"`)
	m, err := encode(testBot, r)
	if err != nil {
		t.Fatal(err)
	}
	got := decode(familyIn, testBot, "e1", jet.Stored{Msg: m})
	if got.Err != nil || got.Record.Message.Text != "hi" || got.Record.Raw != nil {
		t.Errorf("got text %q, %d bytes of raw and %v, want the message without raw", got.Record.Message.Text, len(got.Record.Raw), got.Err)
	}
	r.Message.Text = strings.Repeat("x", MaxBody)
	if _, err := encode(testBot, r); !errors.Is(err, botmesh.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
}

func TestWhatCanNotBeReadIsAnEntryWithAnError(t *testing.T) {
	t.Parallel()
	long := chat(strings.Repeat("x", 151))
	good := func() jet.Stored {
		m, err := encode(testBot, message(chat("1"), "1", "hi"))
		if err != nil {
			t.Fatal(err)
		}
		return jet.Stored{Msg: m, Seq: 5}
	}
	for name, c := range map[string]struct {
		change func(*jet.Stored)
		want   error
	}{
		"newer version": {func(m *jet.Stored) { m.Data = []byte(`{"v":4,"message":[]}`) }, ErrNewer},
		"no version":    {func(m *jet.Stored) { m.Data = []byte(`{}`) }, ErrUnreadable},
		"not JSON":      {func(m *jet.Stored) { m.Data = []byte("hello") }, ErrUnreadable},
		"no body":       {func(m *jet.Stored) { m.Data = nil }, ErrUnreadable},
		"wrong body":    {func(m *jet.Stored) { m.Data = []byte(`{"v":1,"message":[]}`) }, ErrUnreadable},
		"no id":         {func(m *jet.Stored) { m.Header.Del(headerMsgID) }, ErrUnreadable},
		"foreign id":    {func(m *jet.Stored) { m.Header.Set(headerMsgID, "other:telegram:1") }, ErrUnreadable},
		"no headers":    {func(m *jet.Stored) { m.Header = nil }, ErrUnreadable},
		"bad escape":    {func(m *jet.Stored) { m.Header.Set(headerUser, "%zz") }, ErrUnreadable},
		"bad time":      {func(m *jet.Stored) { m.Header.Set(headerSentAt, "today") }, ErrUnreadable},
		"bad hops":      {func(m *jet.Stored) { m.Header.Set(headerHops, "-1") }, ErrUnreadable},
		"foreign":       {func(m *jet.Stored) { m.Subject = "bot.in.other.telegram.1" }, ErrUnreadable},
		"no token":      {func(m *jet.Stored) { m.Subject = "bot.in.demo.telegram" }, ErrUnreadable},
		"bad token":     {func(m *jet.Stored) { m.Subject = "bot.in.demo.telegram.ä" }, ErrUnreadable},
		"hash, no chat": {func(m *jet.Stored) { m.Subject = subjectOf(familyIn, testBot, long) }, ErrUnreadable},
		"hash, another": {func(m *jet.Stored) {
			m.Subject = subjectOf(familyIn, testBot, long)
			m.Header.Set(headerChat, "telegram/1")
		}, ErrUnreadable},
		"unknown header": {func(m *jet.Stored) { m.Header.Set("Bot-New", "1") }, nil},
		"unknown field":  {func(m *jet.Stored) { m.Data = []byte(`{"v":1,"message":{"text":"hi","new":1},"new":1}`) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := good()
			c.change(&m)
			e := decode(familyIn, testBot, "e1", m)
			if !errors.Is(e.Err, c.want) {
				t.Errorf("got %v, want %v", e.Err, c.want)
			}
			if errors.Is(e.Err, ErrNewer) && errors.Is(e.Err, ErrUnreadable) {
				t.Errorf("got %v, want one of the two", e.Err)
			}
			if e.Record.Seq != 5 || e.Record.Epoch != "e1" {
				t.Errorf("place: got %s %d, want e1 5", e.Record.Epoch, e.Record.Seq)
			}
		})
	}
}

// Only what is to send a file or a link is kept from builds that know none: the rest is what
// it was, byte by byte.
func TestOnlyAFileOrALinkRaisesTheVersion(t *testing.T) {
	t.Parallel()
	file := botmesh.Send{Text: "<hi>", Media: &botmesh.Media{Kind: botmesh.MediaImage, URL: "https://example.org/a?b&c"}}
	link := botmesh.Send{Text: "hi", Spans: []botmesh.Span{{To: 2, Style: botmesh.StyleLink, URL: "https://example.org/"}}}
	bold := botmesh.Send{Text: "hi", Spans: []botmesh.Span{{To: 2, Style: botmesh.StyleBold}}}
	const leads = `{"text":"hi","spans":[{"from":0,"to":2,"style":"link","url":"https://example.org/"}]}`
	const sent = `{"text":"<hi>","media":{"kind":"image","url":"https://example.org/a?b&c"}}`
	for want, r := range map[string]botmesh.Record{
		`{"v":1,"message":{},"sends":[{"text":"<hi>"}]}`:                                          {Sends: []botmesh.Send{{Text: "<hi>"}}},
		`{"v":1,"message":{"media":[{"kind":"image","ref":"f"}]}}`:                                {Message: botmesh.Message{Media: []botmesh.Media{{Kind: "image", Ref: "f"}}}},
		`{"v":2,"message":{},"sends":[{"text":"a"},` + sent + `]}`:                                {Sends: []botmesh.Send{{Text: "a"}, file}},
		`{"v":1,"message":{},"sends":[{"text":"hi","spans":[{"from":0,"to":2,"style":"bold"}]}]}`: {Sends: []botmesh.Send{bold}},
		`{"v":3,"message":{},"sends":[` + leads + `,` + sent + `]}`:                               {Sends: []botmesh.Send{link, file}},
		`{"v":3,"message":{},"failed":{"part":"p","send":` + leads + `,"tries":1,"error":""}}`:    {Failed: &botmesh.Failure{Part: "p", Send: link, Tries: 1}},
		`{"v":2,"message":{},"failed":{"part":"p","send":` + sent + `,"tries":1,"error":""}}`:     {Failed: &botmesh.Failure{Part: "p", Send: file, Tries: 1}},
	} {
		r.Type, r.ID, r.Chat = botmesh.TypeCommand, "1", chat("1")
		m, err := encode(testBot, r)
		if got := strings.TrimSuffix(string(m.Data), "\n"); err != nil || got != want {
			t.Errorf("got %s, error %v, want %s", got, err, want)
		}
		e := decode(familyIn, testBot, "e1", jet.Stored{Msg: m, Seq: 1})
		e.Record.Epoch, e.Record.Seq = "", 0
		if diff := cmp.Diff(r, e.Record); e.Err != nil || diff != "" {
			t.Errorf("read again: error %v, (-want +got):\n%s", e.Err, diff)
		}
	}
}

func FuzzDecode(f *testing.F) {
	m, err := encode(testBot, message(chat("1"), "1", "hi"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(m.Subject, m.Header.Get(headerMsgID), "message", "", "", "", m.Data)
	f.Add("bot.in.demo.telegram.=hff", "demo:telegram:%41", "x", "telegram/1", "%", "2026-01-02T03:04:05Z", []byte(`{"v":4}`))
	f.Fuzz(func(t *testing.T, subject, id, kind, written, user, sent string, data []byte) {
		h := nats.Header{headerMsgID: {id}, headerType: {kind}, headerChat: {written}, headerUser: {user}, headerSentAt: {sent}}
		e := decode(familyIn, testBot, "e1", jet.Stored{Msg: jet.Msg{Subject: subject, Header: h, Data: data}, Seq: 1})
		if e.Err != nil {
			if !errors.Is(e.Err, ErrNewer) && !errors.Is(e.Err, ErrUnreadable) {
				t.Errorf("got %v, want ErrNewer or ErrUnreadable", e.Err)
			}
			return
		}
		if got := subjectOf(familyIn, testBot, e.Record.Chat); got != subject {
			t.Errorf("subject of the chat: got %q, want %q", got, subject)
		}
		if len(e.Record.ID) > MaxID || len(e.Record.User) > MaxID {
			return // read, but not to be written again
		}
		again, err := encode(testBot, e.Record)
		if err != nil {
			t.Fatalf("encode what was read: %v", err)
		}
		if e.Record.Type == botmesh.TypeStatus {
			return // another subject
		}
		back := decode(familyIn, testBot, "e1", jet.Stored{Msg: again, Seq: 1})
		if diff := cmp.Diff(e, back); diff != "" && len(data) < MaxBody/8 {
			t.Errorf("record changed (-want +got):\n%s", diff)
		}
	})
}

func FuzzEscapeHeader(f *testing.F) {
	f.Add("wamid.HBg=")
	f.Add("a\r\nb: c %41\xff")
	f.Fuzz(func(t *testing.T, s string) {
		fs := fields{h: nats.Header{"K": {escapeHeader(s)}}}
		if got := fs.text("K"); got != s || fs.err != nil {
			t.Errorf("got %q and %v, want %q", got, fs.err, s)
		}
		for _, c := range []byte(fs.h.Get("K")) {
			if c <= ' ' || c >= 0x7f {
				t.Errorf("byte %q in %q, want visible ASCII", c, fs.h.Get("K"))
			}
		}
	})
}
