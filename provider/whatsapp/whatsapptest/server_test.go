package whatsapptest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const (
	token = "t"
	path  = "/" + Version + "/7/messages"
)

// call posts a message of these fields and returns the status and the body.
func call(t *testing.T, s *Server, path, token, fields string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(`{"messaging_product":"whatsapp","recipient_type":"individual",`+fields+`}`))
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// choices are n choices below a message, whose ids differ.
func choices(kind string, n int, title string) string {
	var all []string
	for i := range n {
		one := fmt.Sprintf(`{"id":"i%d","title":"%s"}`, i, title)
		if kind != "list" {
			one = `{"type":"reply","reply":` + one + `}`
		}
		all = append(all, one)
	}
	list := `"buttons":[` + strings.Join(all, ",") + `]`
	if kind == "list" {
		list = `"button":"Choose","sections":[{"rows":[` + strings.Join(all, ",") + `]}]`
	}
	return `"to":"155","type":"interactive","interactive":{"type":"` + kind + `","body":{"text":"a"},"action":{` + list + `}}`
}

func TestRefusesWhatThePlatformRefuses(t *testing.T) {
	t.Parallel()
	text := func(n int) string {
		return `"to":"155","type":"text","text":{"body":"` + strings.Repeat("é", n) + `"}`
	}
	for name, c := range map[string]struct {
		path, token, fields string
		status              int
		words               string
	}{
		"WrongToken":   {path, "x", text(1), 401, `"code":190`},
		"WrongNumber":  {"/" + Version + "/8/messages", token, text(1), 400, "does not exist"},
		"OldVersion":   {"/v1.0/7/messages", token, text(1), 400, "does not exist"},
		"NoJSON":       {path, token, `to=155`, 400, "Invalid parameter"},
		"NoRecipient":  {path, token, `"type":"text","text":{"body":"a"}`, 400, "to is required"},
		"TwoOfThem":    {path, token, `"recipient":"US.1",` + text(1), 400, "to is required"},
		"NoPhone":      {path, token, `"to":"US.1","type":"text","text":{"body":"a"}`, 400, "not a phone number"},
		"Image":        {path, token, `"to":"155","type":"image","image":{"link":"https://example.org/a.png","caption":"a"}`, 200, "wamid.OUT1"},
		"NotFetched":   {path, token, `"to":"155","type":"image","image":{"link":"https://files.invalid/a.png"}`, 400, "131053"},
		"UnknownFile":  {path, token, `"to":"155","type":"image","image":{"id":"1"}`, 400, "attachment ID"},
		"LinkAndID":    {path, token, `"to":"155","type":"image","image":{"link":"https://example.org/a.png","id":"1"}`, 400, "either id or link"},
		"AudioCaption": {path, token, `"to":"155","type":"audio","audio":{"link":"https://example.org/a.ogg","caption":"a"}`, 400, "Unexpected key"},
		"TextAndFile":  {path, token, text(1) + `,"video":{"link":"https://example.org/a"}`, 400, "type does not go"},
		"OtherFile":    {path, token, `"to":"155","type":"image","video":{"link":"https://example.org/a"}`, 400, "type does not go"},
		"Empty":        {path, token, text(0), 400, "text.body"},
		"TooLong":      {path, token, text(4097), 400, "4097"},
		"Longest":      {path, token, text(4096), 200, "wamid.OUT1"},
		"WrongType":    {path, token, `"to":"155","type":"dream"`, 400, "type does not go"},
		"Buttons":      {path, token, choices("button", 1, "Yes"), 200, "wamid"},
		"ManyButtons":  {path, token, choices("button", 4, "Yes"), 400, "want 1 to 3"},
		"NoButtons":    {path, token, choices("button", 0, "Yes"), 400, "want 1 to 3"},
		"LongButton":   {path, token, choices("button", 1, strings.Repeat("x", 21)), 400, "title"},
		"Twins":        {path, token, choices("button", 2, "Yes"), 400, "alike"},
		"List":         {path, token, choices("list", 1, strings.Repeat("x", 24)), 200, "wamid"},
		"LongList":     {path, token, choices("list", 11, "Yes"), 400, "want 1 to 10"},
		"LongRow":      {path, token, choices("list", 1, strings.Repeat("x", 25)), 400, "title"},
		"NewKind":      {path, token, choices("carousel", 1, "Yes"), 400, "unknown"},
		"LongCallback": {path, token, text(1) + `,"biz_opaque_callback_data":"` + strings.Repeat("x", 513) + `"`, 400, "callback_data"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := New(token, "7")
			status, body := call(t, s, c.path, c.token, c.fields)
			if status != c.status || !strings.Contains(body, c.words) {
				t.Errorf("got %d %s, want %d with %q", status, body, c.status, c.words)
			}
			if taken := len(s.All()); (taken == 1) != (c.status == 200) {
				t.Errorf("got %d messages taken, want them only with success", taken)
			}
		})
	}
}

func TestPairRate(t *testing.T) {
	t.Parallel()
	s := New(token, "7")
	s.Limit(time.Hour, 2)
	for n, want := range []int{200, 200, 400} {
		if got, body := call(t, s, path, token, `"to":"155","type":"text","text":{"body":"a"}`); got != want || want == 400 && !strings.Contains(body, "131056") {
			t.Errorf("call %d: got %d %s, want %d", n, got, body, want)
		}
	}
	if got, _ := call(t, s, path, token, `"to":"156","type":"text","text":{"body":"a"}`); got != 200 {
		t.Errorf("got %d for another user, want 200", got)
	}
}
