package whatsapp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/httpcall"
)

const (
	// pairDelay is the pace at which one user may be written to.
	pairDelay = 6 * time.Second
	// usageHeader says, in minutes, when an account that did too much may go on.
	usageHeader = "X-Business-Use-Case-Usage"
)

// answer is what the platform says to a call.
type answer struct {
	Messages []struct {
		ID string `json:"id"`
	} `json:"messages"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// outcome says what an answer means for the message.
func outcome(got httpcall.Answer) (provider.Sent, error) {
	var a answer
	err := json.Unmarshal(got.Body, &a)
	switch {
	case err == nil && got.Status == http.StatusOK && a.Error == nil && len(a.Messages) > 0 && a.Messages[0].ID != "":
		return provider.Sent{MessageID: a.Messages[0].ID}, nil
	case err == nil && a.Error != nil && got.Status >= 400:
		return provider.Sent{}, refusal(got, a.Error.Code, a.Error.Message)
	}
	err = fmt.Errorf("whatsapp: %d %s, not from the Graph API", got.Status, http.StatusText(got.Status))
	switch {
	case got.Status == http.StatusTooManyRequests:
		err = provider.Retry(err, got.RetryAfter())
	case got.Status >= 300 && got.Status < 500:
		err = provider.RetryAll(fmt.Errorf("%w: the API address is wrong", err), httpcall.AccountDelay)
	}
	return provider.Sent{}, err // in doubt: a success that says nothing, or a call that was lost track of
}

// refusal says what an error code means. The HTTP status says little: a rate limit
// may come with 400.
func refusal(got httpcall.Answer, code int, message string) error {
	err := fmt.Errorf("whatsapp: %d %s", code, message)
	switch code {
	case 131056: // too many messages to this user
		return provider.Retry(err, pairDelay)
	case 4, 80007: // the app or the account called too often
		return provider.RetryAll(err, max(regain(got.Header.Get(usageHeader)), got.RetryAfter()))
	case 130429: // the number sends too fast
		return provider.RetryAll(err, got.RetryAfter())
	case 131052, 131053: // a file that it can not fetch
		return provider.Permanent(err)
	case 2, 131000, 131016, 131057: // out of order, by its own word
		return provider.Retry(err, got.RetryAfter())
	case 0, 3, 10, 190, 368, 130497, 131031, 131042, 131045, 131048: // token, rights, payment, spam: of the account
		return provider.RetryAll(fmt.Errorf("%w: the account can not send until that is put right", err), httpcall.AccountDelay)
	}
	switch {
	case blocks(code):
		return provider.Blocked(err)
	case code >= 200 && code < 300, got.Status == http.StatusUnauthorized: // rights
		return provider.RetryAll(fmt.Errorf("%w: the account can not send until that is put right", err), httpcall.AccountDelay)
	case got.Status >= 500:
		return err
	}
	return provider.Permanent(err)
}

// blocks reports whether an error is of all that is sent to a user, until he writes.
func blocks(code int) bool {
	switch code {
	case 131047, // a day without a word of the user's
		131026: // who is not there, blocked the business, or has not agreed to the terms
		return true
	}
	return false
}

// regain reads the longest time, in minutes, after which an account may go on.
func regain(header string) time.Duration {
	var usage map[string][]struct {
		Minutes int64 `json:"estimated_time_to_regain_access"`
	}
	if json.Unmarshal([]byte(header), &usage) != nil {
		return 0 // not there, or nothing that says when
	}
	var longest int64
	for _, uses := range usage {
		for _, u := range uses {
			longest = max(longest, min(u.Minutes, 24*60))
		}
	}
	return httpcall.Seconds(60 * longest)
}
