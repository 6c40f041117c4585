package slacktest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// call posts a message and returns the status and the body.
func call(t *testing.T, s *Server, path, token, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestRefusesWhatSlackRefuses(t *testing.T) {
	t.Parallel()
	const path = "/chat.postMessage"
	blocks := func(section, label, value string) string {
		return `{"channel":"C1","text":"a","blocks":[{"type":"section","text":{"type":"plain_text","text":"` + section + `"}},{"type":"actions","elements":[{"type":"button","text":{"text":"` +
			label + `"},"action_id":"b0","value":"` + value + `"}]}]}`
	}
	rich := func(elements string) string {
		return `{"channel":"C1","text":"a","blocks":[{"type":"rich_text","elements":[` + elements + `]}]}`
	}
	section := func(elements string) string {
		return rich(`{"type":"rich_text_section","elements":[` + elements + `]}`)
	}
	const phrase = `{"type":"text","text":"a","style":{"bold":true}}`
	for name, c := range map[string]struct{ path, token, body, words string }{
		"Rich":          {path, "t", section(phrase + `,{"type":"link","url":"tel:1"}`), `"ok":true`},
		"RichCode":      {path, "t", rich(`{"type":"rich_text_preformatted","elements":[` + phrase + `]}`), `"ok":true`},
		"RichNothing":   {path, "t", rich(``), "invalid_blocks"},
		"RichEmpty":     {path, "t", section(``), "invalid_blocks"},
		"RichNoText":    {path, "t", section(`{"type":"text","text":""}`), "invalid_blocks"},
		"RichLong":      {path, "t", section(`{"type":"text","text":"` + strings.Repeat("x", 3001) + `"}`), "invalid_blocks"},
		"RichTooLong":   {path, "t", section(phrase + strings.Repeat(`,`+phrase, 300)), "msg_blocks_too_long"},
		"RichUnknown":   {path, "t", section(`{"type":"span","text":"a"}`), "invalid_blocks"},
		"RichStyle":     {path, "t", section(`{"type":"text","text":"a","style":{"big":true}}`), "invalid_blocks"},
		"RichFlat":      {path, "t", rich(phrase), "invalid_blocks"},
		"RichNoLink":    {path, "t", section(`{"type":"link","text":"a"}`), "invalid_blocks"},
		"RichLinkCode":  {path, "t", section(`{"type":"link","url":"tel:1","style":{"code":true}}`), "invalid_blocks"},
		"RichLinkInPre": {path, "t", rich(`{"type":"rich_text_preformatted","elements":[{"type":"link","url":"tel:1"}]}`), "invalid_blocks"},
		"WrongToken":    {path, "x", `{"channel":"C1","text":"a"}`, "invalid_auth"},
		"WrongMethod":   {"/chat.love", "t", `{"channel":"C1","text":"a"}`, "unknown_method"},
		"NoJSON":        {path, "t", `channel=C1`, "invalid_json"},
		"NoChannel":     {path, "t", `{"channel":"x","text":"a"}`, "channel_not_found"},
		"Empty":         {path, "t", `{"channel":"C1","text":" \n"}`, "no_text"},
		"TooLong":       {path, "t", `{"channel":"C1","text":"` + strings.Repeat("é", 4001) + `"}`, "msg_too_long"},
		"Longest":       {path, "t", `{"channel":"C1","text":"` + strings.Repeat("é", 4000) + `"}`, `"ok":true`},
		"Blocks":        {path, "t", blocks("a", "Yes", "y"), `"ok":true`},
		"LongSection":   {path, "t", blocks(strings.Repeat("x", 3001), "Yes", "y"), "invalid_blocks"},
		"LongLabel":     {path, "t", blocks("a", strings.Repeat("x", 76), "y"), "invalid_blocks"},
		"LongValue":     {path, "t", blocks("a", "Yes", strings.Repeat("x", 2001)), "invalid_blocks"},
		"Twins":         {path, "t", strings.Replace(blocks("a", "Yes", "y"), `"elements":[`, `"elements":[{"type":"button","text":{"text":"a"},"action_id":"b0","value":"z"},`, 1), "invalid_blocks"},
		"Image":         {path, "t", `{"channel":"C1","blocks":[{"type":"image","image_url":"https://example.org/a.png","alt_text":"a"}]}`, `"ok":true`},
		"NoAlt":         {path, "t", `{"channel":"C1","blocks":[{"type":"image","image_url":"https://example.org/a.png"}]}`, "invalid_blocks"},
		"NotFetched":    {path, "t", `{"channel":"C1","blocks":[{"type":"image","image_url":"https://files.invalid/a.png","alt_text":"a"}]}`, "invalid_blocks"},
		"NoElements":    {path, "t", `{"channel":"C1","text":"a","blocks":[{"type":"actions"}]}`, "invalid_blocks"},
		"ManyBlocks":    {path, "t", `{"channel":"C1","text":"a","blocks":[` + strings.TrimSuffix(strings.Repeat(`{"type":"divider"},`, 51), ",") + `]}`, "invalid_blocks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := New("t")
			if status, body := call(t, s, c.path, c.token, c.body); status != 200 || !strings.Contains(body, c.words) {
				t.Errorf("got %d %s, want 200 with %q", status, body, c.words)
			}
			if taken := len(s.All()); (taken == 1) != (c.words == `"ok":true`) {
				t.Errorf("got %d messages taken, want them only with success", taken)
			}
		})
	}
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	s := New("t")
	s.Limit(time.Hour, 1)
	for n, want := range []int{200, 429} {
		if got, body := call(t, s, "/chat.postMessage", "t", `{"channel":"C1","text":"a"}`); got != want {
			t.Errorf("call %d: got %d %s, want %d", n, got, body, want)
		}
	}
}
