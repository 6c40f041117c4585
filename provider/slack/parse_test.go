package slack

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider/providertest"
	"github.com/botmesh-go/botmesh/provider/slack/slacktest"
)

const stamp = "1797000000.000100"

// eventOf is an event of that type with these fields, which are JSON.
func eventOf(t *testing.T, typ, fields string) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte("{"+fields+"}"), &m); err != nil {
		t.Fatal(err)
	}
	return string(slacktest.Event(typ, m))
}

// SPEC: J9 X2
func TestParseKinds(t *testing.T) {
	t.Parallel()
	const (
		head    = `"channel":"C0HALL001","ts":"1797000000.000100","event_ts":"1797000000.000100",`
		changed = `"subtype":"message_changed","message":{"ts":"1797000000.000001",`
	)
	for name, c := range map[string]struct {
		typ, fields string
		want        botmesh.RecordType // empty for none
		chat        string
		text        string
	}{
		"Mention":        {"app_mention", head + `"user":"U0NORA001","text":"<@U0BOT0001>: /order"`, botmesh.TypeMessage, "slack/C0HALL001/U0NORA001", "/order"},
		"Links":          {"message", head + `"user":"U0NORA001","text":"<mailto:a@b.c|a@b.c> <https://b.c?x=1&amp;y> <@U1> &lt;b&gt;"`, botmesh.TypeMessage, "slack/C0HALL001/U0NORA001", "a@b.c https://b.c?x=1&y <@U1> <b>"},
		"InThread":       {"message", head + `"user":"U0NORA001","text":"a","thread_ts":"1797000000.000001"`, botmesh.TypeMessage, "slack/C0HALL001%2F1797000000.000001/U0NORA001", "a"},
		"FirstOfThread":  {"message", head + `"user":"U0NORA001","text":"a","thread_ts":"1797000000.000100"`, botmesh.TypeMessage, "slack/C0HALL001/U0NORA001", "a"},
		"Me":             {"message", head + `"user":"U0NORA001","text":"a","subtype":"me_message"`, botmesh.TypeMessage, "slack/C0HALL001/U0NORA001", "a"},
		"Own":            {"message", head + `"user":"U0BOT0001","text":"a","bot_id":"B1"`, "", "", ""},
		"OwnByApp":       {"message", head + `"user":"U0XXX","text":"a","bot_id":"B1","app_id":"A0TEST001"`, "", "", ""},
		"OwnMention":     {"app_mention", head + `"user":"U0BOT0001","text":"<@U0BOT0001>"`, "", "", ""},
		"OwnUnfolded":    {"message", head + changed + `"user":"U0BOT0001","text":"a"}`, "", "", ""},
		"OwnDeleted":     {"message", head + `"subtype":"message_deleted","deleted_ts":"1.1","previous_message":{"user":"U0BOT0001"}`, "", "", ""},
		"OwnReaction":    {"reaction_added", `"user":"U0BOT0001","reaction":"eyes","event_ts":"1.1","item":{"channel":"C0HALL001","ts":"1.1"}`, "", "", ""},
		"OtherBot":       {"message", head + `"user":"U0XXX","text":"a","bot_id":"B2","app_id":"A2"`, botmesh.TypeEvent, "slack/C0HALL001/U0XXX", "a"},
		"OldBot":         {"message", head + `"subtype":"bot_message","text":"a","bot_id":"B2"`, botmesh.TypeEvent, "slack/C0HALL001", ""},
		"Edit":           {"message", head + changed + `"user":"U0NORA001","text":"b"},"previous_message":{"text":"a"}`, botmesh.TypeEdit, "slack/C0HALL001/U0NORA001", "b"},
		"Unfolded":       {"message", head + changed + `"user":"U0NORA001","text":"a"},"previous_message":{"text":"a"}`, botmesh.TypeEvent, "slack/C0HALL001/U0NORA001", ""},
		"ChangedNothing": {"message", head + `"subtype":"message_changed"`, botmesh.TypeEvent, "slack/C0HALL001", ""},
		"Topic":          {"message", head + `"subtype":"channel_topic","user":"U0NORA001","text":"a"`, botmesh.TypeEvent, "slack/C0HALL001/U0NORA001", ""},
		"Joined":         {"message", head + `"subtype":"channel_join","user":"U0NORA001"`, botmesh.TypeMembership, "slack/C0HALL001/U0NORA001", ""},
		"Member":         {"member_left_channel", `"channel":"C0HALL001","user":"U0NORA001","event_ts":"1.1"`, botmesh.TypeMembership, "slack/C0HALL001/U0NORA001", ""},
		"Reaction":       {"reaction_added", `"user":"U0NORA001","reaction":"eyes","event_ts":"1.1","item":{"channel":"C0HALL001","ts":"1.1"}`, botmesh.TypeReaction, "slack/C0HALL001/U0NORA001", "eyes"},
		"ReactionBack":   {"reaction_removed", `"user":"U0NORA001","reaction":"eyes","event_ts":"1.1","item":{"channel":"C0HALL001","ts":"1.1"}`, botmesh.TypeReaction, "slack/C0HALL001/U0NORA001", ""},
		"NewChannel":     {"channel_created", `"event_ts":"1.1","channel":{"id":"C1"}`, botmesh.TypeEvent, "slack/-", ""},
		"Home":           {"app_home_opened", `"event_ts":"1.1","channel":"D1","user":"U0NORA001"`, botmesh.TypeEvent, "slack/D1", ""},
		"NewUser":        {"user_change", `"event_ts":"1.1","user":{"id":"U1"}`, botmesh.TypeEvent, "slack/-", ""},
		"Misfit":         {"message", head + `"user":"U0NORA001","text":7`, botmesh.TypeEvent, "slack/-", ""},
		"BadChannel":     {"message", `"channel":"C 1","ts":"1.1","event_ts":"1.1","user":"U0NORA001","text":"a"`, botmesh.TypeEvent, "slack/-", "a"},
		"NoUser":         {"message", head + `"text":"a"`, botmesh.TypeEvent, "slack/C0HALL001", "a"},
		"Enterprise":     {"message", head + `"user":"U0NORA001","user_team":"E1","text":"a"`, botmesh.TypeMessage, "slack/C0HALL001/U0NORA001", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := receiverAt(t, noon)
			recs, err := r.Parse(nil, []byte(eventOf(t, c.typ, c.fields)))
			if err != nil || (len(recs) == 1) != (c.want != "") {
				t.Fatalf("got %d records, %v, want %q", len(recs), err, c.want)
			}
			if err := providertest.Check(r, recs); err != nil {
				t.Error(err)
			}
			for _, rec := range recs {
				if rec.Type != c.want || rec.Chat.String() != c.chat || rec.Message.Text != c.text {
					t.Errorf("got %s of %v with %q, want %s of %s with %q", rec.Type, rec.Chat, rec.Message.Text, c.want, c.chat, c.text)
				}
			}
		})
	}
}

// SPEC: J2
func TestMentionAndMessageAreOneRecord(t *testing.T) {
	t.Parallel()
	r := receiverAt(t, noon)
	fields := `"channel":"C0HALL001","ts":"1.1","event_ts":"1.1","user":"U0NORA001","text":"<@U0BOT0001> hi"`
	a, err := r.Parse(nil, []byte(eventOf(t, "message", fields)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Parse(nil, []byte(strings.ReplaceAll(eventOf(t, "app_mention", fields), "Ev1.1", "Ev9")))
	if err != nil || len(a) != 1 || len(b) != 1 || a[0].ID != b[0].ID || a[0].Chat != b[0].Chat {
		t.Errorf("got %+v and %+v, %v, want the same record", a, b, err)
	}
}

// SPEC: J9 X2
func TestParseForms(t *testing.T) {
	t.Parallel()
	payload := func(s string) string { return url.Values{"payload": {s}}.Encode() }
	for name, c := range map[string]struct {
		body string
		want []botmesh.RecordType
		chat string
		err  string
	}{
		"View":        {payload(`{"type":"view_submission","team":{"id":"T1"},"user":{"id":"U1"},"trigger_id":"1"}`), []botmesh.RecordType{botmesh.TypeEvent}, "slack/-", ""},
		"TwoActions":  {payload(`{"type":"block_actions","team":{"id":"T1"},"user":{"id":"U1"},"channel":{"id":"C1"},"container":{"message_ts":"1.1"},"actions":[{"action_ts":"1.2","value":"a"},{"action_ts":"1.2","selected_option":{"value":"b"}}]}`), []botmesh.RecordType{botmesh.TypeCallback, botmesh.TypeCallback}, "slack/C1/U1", ""},
		"InThread":    {payload(`{"type":"block_actions","team":{"id":"T1"},"user":{"id":"U1"},"channel":{"id":"C1"},"container":{"message_ts":"1.1","thread_ts":"1.0"},"actions":[{"action_ts":"1.2"}]}`), []botmesh.RecordType{botmesh.TypeCallback}, "slack/C1%2F1.0/U1", ""},
		"AtHome":      {payload(`{"type":"block_actions","team":{"id":"T1"},"user":{"id":"U1"},"container":{"type":"view"},"actions":[{"action_ts":"1.2"}]}`), []botmesh.RecordType{botmesh.TypeEvent}, "slack/-", ""},
		"Misfit":      {payload(`{"type":7}`), []botmesh.RecordType{botmesh.TypeEvent}, "slack/-", ""},
		"Shortcut":    {payload(`{"type":"message_action","trigger_id":"1","team":{"id":"T1"},"channel":{"id":"C1"},"user":{"id":"U1"}}`), []botmesh.RecordType{botmesh.TypeEvent}, "slack/C1/U1", ""},
		"SSLCheck":    {"ssl_check=1&token=x", nil, "", ""},
		"Other":       {"a=b", []botmesh.RecordType{botmesh.TypeEvent}, "slack/-", ""},
		"BrokenForm":  {"payload=%zz", nil, "", "form is broken"},
		"BrokenJSON":  {payload(`{"type":`), nil, "", "broken JSON"},
		"DeepPayload": {payload(strings.Repeat(`{"a":`, 70)), nil, "", "deeper"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := receiverAt(t, noon)
			recs, err := r.Parse(http.Header{"Content-Type": {formType + "; charset=utf-8"}}, []byte(c.body))
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("got %v, want %q", err, c.err)
			}
			if err := providertest.Check(r, recs); err != nil || len(recs) != len(c.want) {
				t.Fatalf("got %d records, %v, want %d", len(recs), err, len(c.want))
			}
			for i, rec := range recs {
				if rec.Type != c.want[i] || rec.Chat.String() != c.chat || rec.User == "" && c.chat != "slack/-" {
					t.Errorf("got %s of %v by %q, want %s of %s", rec.Type, rec.Chat, rec.User, c.want[i], c.chat)
				}
			}
			if name == "TwoActions" && (recs[0].Message.Payload != "a" || recs[1].Message.Payload != "b") {
				t.Errorf("got the payloads %q and %q, want a and b", recs[0].Message.Payload, recs[1].Message.Payload)
			}
		})
	}
}

func TestParseOtherEnvelopes(t *testing.T) {
	t.Parallel()
	r := receiverAt(t, noon)
	for _, body := range []string{`{"type":"app_rate_limited","team_id":"T1"}`, `{}`, `{"type":7}`} {
		recs, err := r.Parse(nil, []byte(body))
		if err != nil || len(recs) != 1 || recs[0].Type != botmesh.TypeEvent || string(recs[0].Raw) != body {
			t.Errorf("%s: got %+v, %v, want an event", body, recs, err)
		}
	}
	for _, body := range []string{"", "[]", `{"type"`} {
		if recs, err := r.Parse(nil, []byte(body)); err == nil {
			t.Errorf("%q: got %+v, want an error", body, recs)
		}
	}
}

func TestMoment(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int64{stamp: 1797000000000100, "1.5": 1500000, "1.123456789": 1123456, "1": -1, "": -1, "9999999999999999.1": -1} {
		if got := moment(s); want < 0 && !got.IsZero() || want >= 0 && got.UnixMicro() != want {
			t.Errorf("%q: got %v, want %d", s, got, want)
		}
	}
}

func TestAddressRoundTrip(t *testing.T) {
	t.Parallel()
	for _, a := range []address{{channel: "C0HALL001"}, {channel: "D1", thread: stamp}} {
		if got, err := parseAddress(a.String()); err != nil || got != a {
			t.Errorf("%q: got %+v, %v, want %+v", a, got, err, a)
		}
	}
	for _, s := range []string{"", "-", "c1", "C1/", "C1/1", "C1/1.1/2", "/1.1"} {
		if got, err := parseAddress(s); err == nil {
			t.Errorf("%q: got %+v, want an error", s, got)
		}
	}
}
