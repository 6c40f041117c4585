package telegram

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/httpcall"
)

// answer is what Telegram says to a call.
type answer struct {
	OK          bool   `json:"ok"`
	Code        int    `json:"error_code"`
	Description string `json:"description"`
	Parameters  struct {
		RetryAfter int64 `json:"retry_after"` // seconds
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
	Result struct {
		MessageID int64 `json:"message_id"`
	} `json:"result"`
	// foreign says that something between here and Telegram answered.
	foreign bool
	// delay is how long to wait before the next call, as the answer says.
	delay time.Duration
}

// readAnswer reads an answer. One that is not Telegram's has the code of its HTTP
// status and is foreign.
func readAnswer(got httpcall.Answer) answer {
	var a answer
	err := json.Unmarshal(got.Body, &a)
	if err == nil && a.OK && got.Status == http.StatusOK {
		return a
	}
	if err != nil || a.OK || a.Code == 0 {
		a = answer{Code: got.Status, Description: http.StatusText(got.Status) + ", not from the Bot API", foreign: true}
	}
	if a.delay = httpcall.Seconds(a.Parameters.RetryAfter); a.delay == 0 {
		a.delay = got.RetryAfter()
	}
	return a
}

// outcome says what an answer means for the message.
func (a answer) outcome() (provider.Sent, error) {
	if a.OK {
		return provider.Sent{MessageID: id(a.Result.MessageID)}, nil
	}
	err := fmt.Errorf("telegram: %d %s", a.Code, a.Description)
	switch {
	case a.Code < 300, a.Code >= 500: // a success that says nothing, or a call that was lost track of
	case a.Code == http.StatusTooManyRequests:
		err = provider.Retry(err, a.delay)
	case a.Code == http.StatusUnauthorized, a.Code == http.StatusNotFound, a.foreign:
		err = provider.RetryAll(fmt.Errorf("%w: the token or the API address is wrong", err), httpcall.AccountDelay)
	case a.Code == http.StatusConflict:
		err = provider.Retry(err, 0)
	default:
		err = provider.Permanent(err)
	}
	return provider.Sent{}, err
}
