package telegram

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/botmesh-go/botmesh/provider"
)

const (
	// maxAnswer bounds how much of an answer is read, in bytes.
	maxAnswer = 1 << 20
	// accountDelay is how long a call waits after one that Telegram refused for
	// the sake of the token or the address: the next would be refused too.
	accountDelay = 30 * time.Second
	// maxDelay bounds the delay that Telegram can ask for, in seconds.
	maxDelay = 24 * 60 * 60
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
}

// readAnswer reads an answer. One that is not Telegram's has the code of its HTTP
// status and is foreign.
func readAnswer(status int, h http.Header, body []byte) answer {
	var a answer
	err := json.Unmarshal(body, &a)
	if err == nil && a.OK && status == http.StatusOK {
		return a
	}
	if err != nil || a.OK || a.Code == 0 {
		a = answer{Code: status, Description: http.StatusText(status) + ", not from the Bot API", foreign: true}
	}
	if a.Parameters.RetryAfter == 0 {
		// Not there or not a number of seconds: zero.
		a.Parameters.RetryAfter, _ = strconv.ParseInt(h.Get("Retry-After"), 10, 64)
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
		seconds := min(max(0, a.Parameters.RetryAfter), maxDelay)
		err = provider.Retry(err, time.Duration(seconds)*time.Second)
	case a.Code == http.StatusUnauthorized, a.Code == http.StatusNotFound, a.foreign:
		err = provider.Retry(fmt.Errorf("%w: the token or the API address is wrong", err), accountDelay)
	case a.Code == http.StatusConflict:
		err = provider.Retry(err, 0)
	default:
		err = provider.Permanent(err)
	}
	return provider.Sent{}, err
}
