package telegram

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
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
	Result json.RawMessage `json:"result"`
	// foreign says that something between here and Telegram answered.
	foreign bool
	// cut says that it was too long to be read whole.
	cut bool
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
	a.cut = got.Cut
	if a.delay = httpcall.Seconds(a.Parameters.RetryAfter); a.delay == 0 {
		a.delay = got.RetryAfter()
	}
	return a
}

// closed says why an answer to getUpdates ends the polling.
func (a answer) closed() error {
	err := fmt.Errorf("telegram: getUpdates: %d %s", a.Code, a.Description)
	switch {
	case a.Code >= 500:
		return err
	case a.Code == http.StatusTooManyRequests:
		return provider.Retry(err, a.delay)
	case a.Code == http.StatusConflict && strings.Contains(a.Description, "webhook"):
		return provider.Retry(fmt.Errorf("%w: the bot has a webhook: remove it with deleteWebhook, or do not poll", err), httpcall.AccountDelay)
	case a.Code == http.StatusConflict:
		return fmt.Errorf("%w: %w", err, provider.ErrTaken)
	case a.Code == http.StatusUnauthorized, a.Code == http.StatusNotFound, a.foreign:
		err = fmt.Errorf("%w: the token or the API address is wrong", err)
	}
	return provider.Retry(err, httpcall.AccountDelay)
}

// unchanged reports whether the message says what it was to be changed to.
func (a answer) unchanged() bool {
	return a.Code == http.StatusBadRequest && strings.Contains(a.Description, "message is not modified")
}

// refusesStyles reports whether the styles of a text are refused, or where a link leads. Telegram
// says so in many ways, all of which name an entity; it has sent nothing then.
func (a answer) refusesStyles() bool {
	return a.Code == http.StatusBadRequest && !a.foreign && strings.Contains(strings.ToLower(a.Description), "entit")
}

// outcome says what an answer means for the message.
func (a answer) outcome() (provider.Sent, error) {
	if a.OK {
		var sent struct {
			MessageID int64 `json:"message_id"`
		}
		if a.Result == nil {
			return provider.Sent{}, nil
		}
		if err := json.Unmarshal(a.Result, &sent); err != nil {
			return provider.Sent{}, fmt.Errorf("telegram: the answer holds no message: %w", err) // which may be sent
		}
		return provider.Sent{MessageID: id(sent.MessageID)}, nil
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
	case a.Code == http.StatusForbidden: // blocked, removed from the group, or the user is gone
		err = provider.Blocked(err)
	default:
		err = provider.Permanent(err)
	}
	return provider.Sent{}, err
}
