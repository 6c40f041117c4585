// Package provider is the contract between Botmesh and a platform.
//
// A platform is a [Receiver] (verify a webhook, parse it into records) or a
// [Session] (fetch, or hold a connection open), and a [Sender] (cut a message into
// parts, call the platform once per part), or one of them. Each platform is a
// package of its own below this one.
//
// What belongs here: the contract, the words for what a call came to, optional
// abilities as extra interfaces, and what every sender does before its calls: cut
// texts, and write as text what its platform can not show. Retrying, ordering, rate
// limits and receipts do not: that is the outbox's. Journaling is the ingress's.
package provider

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/botmesh-go/botmesh"
)

// Receiver takes a platform's webhooks. It does no I/O. Safe for concurrent use.
type Receiver interface {
	// ID is the provider's instance id: one account. It is in the webhook's path
	// and in every chat key.
	ID() string
	// MaxBody bounds a webhook's body, in bytes.
	MaxBody() int64
	// Verify checks that the platform sent this: a signature over the raw body, or
	// a secret in a header, compared in constant time. It is called before Parse
	// and must not parse. h holds the Host header too. An error means 401; its text
	// is told only if it is a [Refusal].
	Verify(h http.Header, body []byte) error
	// Parse turns a verified body into records, one per event, in order. An error
	// means that the body is not what the platform sends at all (broken JSON): 4xx
	// with the error's text. What is authentic but of no use (no chat, an unknown
	// kind) is a record of TypeEvent, under the chat key {ID(), "-", ""} if it has
	// no chat. Records have everything but their place in the journal.
	Parse(h http.Header, body []byte) ([]botmesh.Record, error)
}

// Refusal is an error of Verify whose text is told to whoever sent the request. It
// must help nobody to forge one.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// Answerer is implemented by a Receiver whose platform reads the body of a
// successful answer.
type Answerer interface {
	// Answer is the JSON to answer body with, now that all its records are stored;
	// nil for none. Nothing may depend on the platform acting on it.
	Answer(body []byte) []byte
}

// Handshaker is implemented by a Receiver whose platform verifies the webhook's
// address with a GET.
type Handshaker interface {
	// Handshake is the text to answer with. An error means 403, and its text is not
	// told.
	Handshake(query url.Values) (answer string, err error)
}

// Sender sends to a platform. Safe for concurrent use.
type Sender interface {
	ID() string
	// Split cuts one send into parts that each fit one call, in order, at least
	// one. It is called once, before the send is committed; the parts are frozen
	// from then on. It is pure. What no platform would take (an empty text) it
	// leaves to Call to refuse.
	Split(s botmesh.Send) []botmesh.Send
	// Call makes one call for one part, without retrying. It honours the
	// context's deadline.
	//
	// An error made by [Retry] or [Permanent] says that the platform certainly did
	// not take the part; any other error that it may have.
	Call(ctx context.Context, c Call) (Sent, error)
}

// Call is one call to the platform.
type Call struct {
	// Part is the part's id, the same on every attempt, for platforms that take an
	// idempotency key.
	Part string
	Chat botmesh.ChatKey
	Send botmesh.Send
}

// Sent is the platform's word that it took a part.
type Sent struct {
	// MessageID is the platform's id of the message, empty if it gives none.
	MessageID string
}

// Idempotent is implemented by a Sender whose platform recognises a repeated
// [Call.Part]. A call in doubt is then simply made again and is no longer in doubt.
type Idempotent interface {
	// IdempotentCalls reports whether every call is recognised.
	IdempotentCalls() bool
}

// Editor is implemented by a Sender whose platform can change a message that it took.
type Editor interface {
	// Edit makes one call that has the message of that id say what c does. That it says
	// so already is success, so a call in doubt is made again. Errors are as of
	// [Sender.Call]; after one made by [Permanent] c is sent as a message of its own.
	Edit(ctx context.Context, c Call, messageID string) error
}

// Opener is implemented by a Sender whose platform keeps the files that users send.
type Opener interface {
	// Open begins to read a file of one of the chat's messages; it lasts as long as ctx.
	// It finds the address anew, as those expire, and sends its secrets to no other host
	// than the platform's own. It needs to bound nothing: see [Files].
	//
	// The error is botmesh.ErrFileTooLarge, ErrFileGone or ErrFileUnsupported where
	// another try is in vain; it holds no secret.
	Open(ctx context.Context, chat botmesh.ChatKey, m botmesh.Media) (*botmesh.File, error)
}

// Typist is implemented by a Sender whose platform can show that the bot is at work.
type Typist interface {
	// Typing makes one call that shows it in a chat, and returns for how long that is to be
	// seen. messageID is the platform's id of the message that the bot works on, empty if
	// there is none. After an error made by [Permanent] it is not called again for the same
	// message; other errors mean that nothing was shown.
	Typing(ctx context.Context, chat botmesh.ChatKey, messageID string) (time.Duration, error)
}

// Checker is implemented by a Sender whose platform tells how it delivers what users write.
type Checker interface {
	// Check asks the platform, and changes nothing there. Its error holds no secret.
	Check(ctx context.Context) (Intake, error)
}

// Intake is a platform's word on what it has for the bot.
type Intake struct {
	// Webhook says that the platform posts to an address. Else it waits to be asked.
	Webhook bool
	// Waiting is how many events it has that the bot did not take yet.
	Waiting int
	// Failed is why its last post in vain was, empty if none was lately, and FailedAt
	// when that was, by the platform's clock.
	Failed   string
	FailedAt time.Time
}

type callError struct {
	err       error
	permanent bool
	blocked   bool
	all       bool
	after     time.Duration
}

func (e *callError) Error() string { return e.err.Error() }
func (e *callError) Unwrap() error { return e.err }

// Retry marks an answer that certainly was no delivery but may be one later: a
// rate limit, an outage. The next call is made no sooner than after, as the
// platform asked; zero leaves it to the backoff.
func Retry(err error, after time.Duration) error {
	return &callError{err: err, after: after}
}

// Permanent marks an answer that will not change: the chat is gone, the content
// is refused.
func Permanent(err error) error { return &callError{err: err, permanent: true} }

// Blocked is [Permanent] for an answer that concerns the whole chat: the platform takes
// nothing for it until its user does something there again, since the user blocked the
// bot, removed it or has been silent for too long.
func Blocked(err error) error { return &callError{err: err, permanent: true, blocked: true} }

// IsBlocked reports whether err was made by [Blocked].
func IsBlocked(err error) bool {
	var e *callError
	return errors.As(err, &e) && e.blocked
}

// IsPermanent reports whether err was made by [Permanent] or [Blocked].
func IsPermanent(err error) bool {
	var e *callError
	return errors.As(err, &e) && e.permanent
}

// RetryAfter reports whether err was made by [Retry], and the platform's delay.
func RetryAfter(err error) (time.Duration, bool) {
	var e *callError
	if errors.As(err, &e) && !e.permanent {
		return e.after, true
	}
	return 0, false
}

// InDoubt reports whether err leaves open whether the platform took the part.
func InDoubt(err error) bool {
	var e *callError
	return err != nil && !errors.As(err, &e)
}
