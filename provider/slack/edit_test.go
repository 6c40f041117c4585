package slack

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/fakeplatform"
	"github.com/botmesh-go/botmesh/provider/slack/slacktest"
)

// SPEC: O8
func TestEditChangesTheMessage(t *testing.T) {
	t.Parallel()
	sl, s := fake(t)
	long := strings.Repeat("word ", 700) + "end"
	for _, chat := range []string{dm, hall + "/" + stamp} {
		sent, err := s.Call(t.Context(), to(chat, botmesh.Send{Text: "…"}))
		if err != nil {
			t.Fatal(err)
		}
		for _, send := range []botmesh.Send{{Text: long}, {Text: "a <b>", Buttons: row("Yes")}, {Text: "a <b>", Buttons: row("Yes")}} {
			if err := s.Edit(t.Context(), to(chat, send), sent.MessageID); err != nil {
				t.Fatalf("%s: got %v, want no error", chat, err)
			}
		}
		got := sl.Chat(chat)
		if len(got) != 1 {
			t.Fatalf("%s: got %d messages, want one", chat, len(got))
		}
		if got := len(strings.Fields(got[0].Was[1])); got != 701 {
			t.Errorf("%s: got %d words of the long text, want all 701", chat, got)
		}
		want := fakeplatform.Message{Text: "a <b>", Was: []string{"…", got[0].Was[1], "a <b>"}, Buttons: []fakeplatform.Button{{Label: "Yes", Payload: "p:Yes"}}}
		if diff := cmp.Diff(want, fakeplatform.Message{Text: got[0].Text, Was: got[0].Was, Buttons: got[0].Buttons}); diff != "" {
			t.Errorf("%s: message (-want +got):\n%s", chat, diff)
		}
	}
}

// SPEC: O5
func TestEditSaysWhatCanNotBeEdited(t *testing.T) {
	t.Parallel()
	sl, s := fake(t)
	for _, message := range []string{"1796000000.000077", "", "77"} {
		if err := s.Edit(t.Context(), to(dm, botmesh.Send{Text: "x"}), message); !provider.IsPermanent(err) {
			t.Errorf("message %q: got %v, want a permanent refusal", message, err)
		}
	}
	sent, err := s.Call(t.Context(), to(dm, botmesh.Send{Text: "…"}))
	if err != nil {
		t.Fatal(err)
	}
	sl.Next(dm, slacktest.Error("edit_window_closed"), slacktest.RateLimit(9e9), fakeplatform.Fault{Status: http.StatusBadGateway})
	edit := func() error { return s.Edit(t.Context(), to(dm, botmesh.Send{Text: "x"}), sent.MessageID) }
	if err := edit(); !provider.IsPermanent(err) {
		t.Errorf("too late: got %v, want a permanent refusal", err)
	}
	if after, ok := provider.RetryAfter(edit()); !ok || after != 9e9 {
		t.Errorf("over the limit: got %v, %v, want Slack's 9s", after, ok)
	}
	if err := edit(); !provider.InDoubt(err) {
		t.Errorf("502: got %v, want doubt", err)
	}
}
