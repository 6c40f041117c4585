package telegram

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/fakeplatform"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

func TestEditChangesTheMessage(t *testing.T) {
	t.Parallel()
	tg, s := fake(t)
	for _, chat := range []string{"55", "-100/7", "biz:conn:56"} {
		sent, err := s.Call(t.Context(), to(chat, "…"))
		if err != nil {
			t.Fatalf("%s: got %v, want no error", chat, err)
		}
		c := to(chat, "done")
		c.Send.Buttons = [][]botmesh.Button{{{Label: "Yes", Payload: "y"}}}
		for range 2 { // a repetition is no refusal
			if err := s.Edit(t.Context(), c, sent.MessageID); err != nil {
				t.Fatalf("%s: got %v, want no error", chat, err)
			}
		}
		got := tg.Chat(chat)
		if len(got) != 1 {
			t.Fatalf("%s: got %d messages, want one", chat, len(got))
		}
		want := fakeplatform.Message{Text: "done", Was: []string{"…"}, Buttons: []fakeplatform.Button{{Label: "Yes", Payload: "y"}}}
		if diff := cmp.Diff(want, fakeplatform.Message{Text: got[0].Text, Was: got[0].Was, Buttons: got[0].Buttons}); diff != "" {
			t.Errorf("%s: message (-want +got):\n%s", chat, diff)
		}
	}
}

// A text that says the same with other styles, or with its buttons beside each other, is
// another message to Telegram.
func TestEditChangesTheLook(t *testing.T) {
	t.Parallel()
	tg, s := fake(t)
	sent, err := s.Call(t.Context(), to("55", "done"))
	if err != nil {
		t.Fatal(err)
	}
	bold, below, beside := to("55", "done"), to("55", "done"), to("55", "done")
	bold.Send.Spans = []botmesh.Span{{To: 4, Style: botmesh.StyleBold}}
	yes, no := botmesh.Button{Label: "Yes", Payload: "y"}, botmesh.Button{Label: "No", Payload: "n"}
	below.Send.Buttons, beside.Send.Buttons = [][]botmesh.Button{{yes}, {no}}, [][]botmesh.Button{{yes, no}}
	for n, c := range []provider.Call{bold, below, beside} {
		for range 2 {
			if err := s.Edit(t.Context(), c, sent.MessageID); err != nil {
				t.Fatal(err)
			}
			if got := tg.Chat("55"); len(got) != 1 || len(got[0].Was) != n+1 {
				t.Fatalf("edit %d: got %+v, want the message changed", n, got)
			}
		}
	}
}

func TestEditSaysWhatCanNotBeEdited(t *testing.T) {
	t.Parallel()
	tg, s := fake(t)
	for _, message := range []string{"77", "", "x"} {
		if err := s.Edit(t.Context(), to("55", "done"), message); !provider.IsPermanent(err) {
			t.Errorf("message %q: got %v, want a permanent refusal", message, err)
		}
	}
	sent, err := s.Call(t.Context(), to("55", "…"))
	if err != nil {
		t.Fatal(err)
	}
	tg.Next("55", telegramtest.RateLimit(3*time.Second), telegramtest.Refusal(http.StatusBadGateway, ""))
	if after, ok := provider.RetryAfter(s.Edit(t.Context(), to("55", "done"), sent.MessageID)); !ok || after != 3e9 {
		t.Errorf("over the limit: got %v, %v, want Telegram's 3s", after, ok)
	}
	if err := s.Edit(t.Context(), to("55", "done"), sent.MessageID); !provider.InDoubt(err) {
		t.Errorf("502: got %v, want doubt", err)
	}
}

func TestTypingIsShownInTheChat(t *testing.T) {
	t.Parallel()
	tg, s := fake(t)
	chats := []string{"55", "-100/7", "biz:conn:56"}
	for _, chat := range chats {
		if lasts, err := s.Typing(t.Context(), to(chat, "").Chat, ""); lasts != typing || err != nil {
			t.Errorf("%s: got %v, %v, want %v and no error", chat, lasts, err, typing)
		}
	}
	if diff := cmp.Diff(chats, tg.Typing()); diff != "" {
		t.Errorf("chats in which the bot types (-want +got):\n%s", diff)
	}
	for _, chat := range []string{"0", "x"} {
		if _, err := s.Typing(t.Context(), to(chat, "").Chat, ""); !provider.IsPermanent(err) {
			t.Errorf("chat %q: got %v, want a permanent refusal", chat, err)
		}
	}
}
