package telegramtest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/provider/fakeplatform"
)

const token = "1:a"

// call posts to a method and returns the status and the body.
func call(t testing.TB, s *Server, path, body string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body)))
	return w.Code, w.Body.String()
}

func TestRefusesWhatTelegramRefuses(t *testing.T) {
	t.Parallel()
	// The text is an emoji of two units and a letter.
	bold := func(at string) string { return `{"chat_id":5,"text":"😀a","entities":[{"type":"bold",` + at + `}]}` }
	link := func(to string) string {
		return `{"chat_id":5,"text":"a","entities":[{"type":"text_link","offset":0,"length":1,"url":"` + to + `"}]}`
	}
	const send, photo = "/bot" + token + "/sendMessage", "/bot" + token + "/sendPhoto"
	for name, c := range map[string]struct {
		path, body string
		status     int
		words      string
	}{
		"WrongToken":  {"/bot2:b/sendMessage", `{"chat_id":5,"text":"a"}`, 401, "Unauthorized"},
		"WrongPath":   {"/sendMessage", `{"chat_id":5,"text":"a"}`, 404, "Not Found"},
		"WrongMethod": {"/bot" + token + "/sendLove", `{}`, 404, "Not Found"},
		"NoJSON":      {send, `chat_id=5`, 400, "parse"},
		"NoChat":      {send, `{"text":"a"}`, 400, "chat_id is empty"},
		"Empty":       {send, `{"chat_id":5,"text":" \n"}`, 400, "message text is empty"},
		"TooLong":     {send, `{"chat_id":5,"text":"` + strings.Repeat("a", 4095) + `😀"}`, 400, "message is too long"},
		"Longest":     {send, `{"chat_id":5,"text":"` + strings.Repeat("a", 4094) + `😀"}`, 200, `"message_id":1`},
		"LongPayload": {send, `{"chat_id":5,"text":"a","reply_markup":{"inline_keyboard":[[{"text":"a","callback_data":"` + strings.Repeat("a", 65) + `"}]]}}`, 400, "BUTTON_DATA_INVALID"},
		"Photo":       {photo, `{"chat_id":5,"photo":"https://example.org/a.png","caption":"a"}`, 200, `"message_id":1`},
		"LongCaption": {photo, `{"chat_id":5,"photo":"https://example.org/a.png","caption":"` + strings.Repeat("a", 1025) + `"}`, 400, "caption is too long"},
		"NoPhoto":     {photo, `{"chat_id":5,"caption":"a"}`, 400, ""},
		"OtherFile":   {photo, `{"chat_id":5,"video":"https://example.org/a.png"}`, 400, "no photo"},
		"NotFetched":  {photo, `{"chat_id":5,"photo":"https://files.invalid/a.png"}`, 400, "wrong file identifier/HTTP URL specified"},
		"UnknownFile": {photo, `{"chat_id":5,"photo":"AgAC"}`, 400, "wrong remote file identifier"},
		"FileAsText":  {send, `{"chat_id":5,"text":"a","photo":"https://example.org/a.png"}`, 400, "no message"},
		"Bold":        {send, bold(`"offset":2,"length":1`), 200, `"message_id":1`},
		"BoldCaption": {photo, `{"chat_id":5,"photo":"https://example.org/a.png","caption":"a","caption_entities":[{"type":"bold","offset":0,"length":2}]}`, 400, "ends after the end"},
		"BoldBefore":  {send, bold(`"offset":-1,"length":1`), 400, "incorrect offset -1"},
		"BoldBack":    {send, bold(`"offset":1,"length":-1`), 400, "incorrect length -1"},
		"BoldBehind":  {send, bold(`"offset":4,"length":1`), 400, "begins after the end"},
		"BoldBeyond":  {send, bold(`"offset":2,"length":2`), 400, "ends after the end"},
		"BoldFromIn":  {send, bold(`"offset":1,"length":2`), 400, "entity begins in a middle"},
		"BoldToIn":    {send, bold(`"offset":0,"length":1`), 400, "ends in a middle"},
		"NoType":      {send, `{"chat_id":5,"text":"a","entities":[{"type":"shiny","offset":0,"length":1}]}`, 400, "can't parse MessageEntity: Unsupported type"},
		"Link":        {send, link("https://example.org/?a=b"), 200, `"message_id":1`},
		"LinkNowhere": {send, link("https://localhost/"), 400, "Wrong HTTP URL"},
		"LinkToCall":  {send, link("tel:112"), 400, "Wrong HTTP URL"},
		"LinkScheme":  {send, link("ftp://example.org/"), 400, "is invalid"},
		"NoLabel":     {send, `{"chat_id":5,"text":"a","reply_markup":{"inline_keyboard":[[{"callback_data":"a"}]]}}`, 400, "button"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := New(token)
			status, body := call(t, s, c.path, c.body)
			if status != c.status || !strings.Contains(body, c.words) {
				t.Errorf("got %d %s, want %d with %q", status, body, c.status, c.words)
			}
			if taken := len(s.All()); (taken == 1) != (c.status == 200) {
				t.Errorf("got %d messages taken, want them only with success", taken)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	const send, five = "/bot" + token + "/sendMessage", `{"chat_id":5,"text":"a"}`
	s := New(token)
	lost := Refusal(502, "")
	lost.Take = true
	s.Next("5", RateLimit(3*time.Second), lost)
	s.Next("", Refusal(500, ""))
	s.Script(func(chat, text string) fakeplatform.Fault {
		if chat == "6" && text == "b" {
			return Refusal(403, "")
		}
		return fakeplatform.Fault{}
	})
	for i, c := range []struct {
		body   string
		status int
		words  string
		taken  int
	}{
		{five, 429, `"retry_after":3`, 0},
		{five, 502, "Bad Gateway", 1},
		{five, 500, "Internal", 1},
		{five, 200, `"ok":true`, 2},
		{`{"chat_id":6,"text":"b"}`, 403, "Forbidden", 2},
		{`{"chat_id":6,"text":"c"}`, 200, `"ok":true`, 3},
	} {
		status, body := call(t, s, send, c.body)
		if status != c.status || !strings.Contains(body, c.words) || len(s.All()) != c.taken {
			t.Errorf("call %d: got %d %s with %d taken, want %d %s with %d", i, status, body, len(s.All()), c.status, c.words, c.taken)
		}
	}
	if got := s.Calls(); got != 6 {
		t.Errorf("got %d calls, want 6", got)
	}
	if got := s.All()[2]; got.Chat != "6" || got.Call != 6 || got.ID != "3" || got.At.IsZero() {
		t.Errorf("got %+v, want the third message of call 6", got)
	}
}

func TestHangHoldsTheCallAfterTaking(t *testing.T) {
	t.Parallel()
	s := New(token)
	s.Next("5", fakeplatform.Fault{Take: true, Hang: true})
	srv := httptest.NewServer(s)
	defer srv.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+"/bot"+token+"/sendMessage", strings.NewReader(`{"chat_id":5,"text":"a"}`))
		if err == nil {
			_, err = http.DefaultClient.Do(req)
		}
		failed <- err
	}()
	if got, err := s.Wait(t.Context(), "5", 1); err != nil || len(got) != 1 {
		t.Fatalf("got %v, %v, want the message taken", got, err)
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want no answer before the caller went away", err)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := New(token).Wait(ctx, "5", 1); !errors.Is(err, context.Canceled) || len(got) != 0 {
		t.Errorf("got %v, %v, want nothing and the context's error", got, err)
	}
}

func TestAnsweredPresses(t *testing.T) {
	t.Parallel()
	s := New(token)
	if status, _ := call(t, s, "/bot"+token+"/answerCallbackQuery", `{"callback_query_id":"77"}`); status != 200 {
		t.Errorf("got %d, want 200", status)
	}
	if status, _ := call(t, s, "/bot"+token+"/answerCallbackQuery", `{}`); status != 400 {
		t.Errorf("got %d without an id, want 400", status)
	}
	if got := s.Answered(); len(got) != 1 || got[0] != "77" {
		t.Errorf("got %q, want the press answered", got)
	}
}

func BenchmarkSendMessage(b *testing.B) {
	s := New(token)
	for b.Loop() {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/bot"+token+"/sendMessage", strings.NewReader(`{"chat_id":5,"text":"count: 17"}`)))
	}
}
