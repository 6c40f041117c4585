package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
)

// askTime bounds what a request may take.
const askTime = 30 * time.Second

// Rooms are what is looked at and acted on.
type Rooms struct {
	Journal *journal.Journal
	Store   checkpoint.Store
	Outbox  *outbox.Outbox
	Acts    *acts.Log
	Pauses  *acts.Pauses
	// Turns shows who holds what, nil if the coordination can not be looked at.
	Turns Turns
	// Coordination is what Turns asks, as an operator is told when it does not answer:
	// where it is and which setting says so. With nil Turns it is why there is none.
	Coordination string
}

// Turns is a coordination that can be looked at. Both of package coord implement it.
type Turns interface {
	coord.Viewer
	coord.Breaker
	// Alive reports whether the heartbeat of an incarnation is there.
	Alive(ctx context.Context, incarnation string) (bool, error)
}

// page answers a request with what ask returns.
//
//	400  the question makes no sense
//	404  there is no such thing
//	409  somebody else was there first: look again
//	503  the rooms are not open, or nobody could answer: ask again
func (a *API) page(ask func(ctx context.Context, rooms *Rooms, r *http.Request) (any, error)) http.HandlerFunc {
	return a.answer(func(ctx context.Context, r *http.Request) (any, error) {
		if a.cfg.Rooms == nil {
			return nil, absent("this program serves no chats")
		}
		rooms := a.cfg.Rooms()
		if rooms == nil {
			return nil, errClosed
		}
		return ask(ctx, rooms, r)
	})
}

// errClosed says that the rooms are not open.
var errClosed = told{botmesh.ErrRefused, "not serving yet"}

// answer is [API.page] of what needs no rooms.
func (a *API) answer(ask func(ctx context.Context, r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), askTime)
		defer cancel()
		body, err := ask(ctx, r)
		if errors.Is(err, errClosed) {
			w.Header().Set("Retry-After", retryAfter)
			refuse(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		if err == nil {
			answer(w, http.StatusOK, body)
			return
		}
		status := statusOf(err)
		if status >= http.StatusInternalServerError {
			a.cfg.Logger.WarnContext(ctx, "a request was not answered", "err", err)
		}
		refuse(w, status, err.Error())
	}
}

// wrongError says that a question makes no sense.
type wrongError struct{ error }

func (e wrongError) Unwrap() error { return e.error }

func wrong(text string) error { return wrongError{errors.New(text)} }

// told is an error in words for an operator. It wraps what it is to programs.
type told struct {
	error
	text string
}

func (e told) Error() string { return e.text }
func (e told) Unwrap() error { return e.error }

// conflict says what keeps an act from being done.
func conflict(format string, args ...any) error {
	return told{botmesh.ErrConflict, fmt.Sprintf(format, args...)}
}

// absent says what there is not.
func absent(format string, args ...any) error {
	return told{botmesh.ErrNotFound, fmt.Sprintf(format, args...)}
}

func statusOf(err error) int {
	switch {
	case errors.As(err, new(wrongError)), errors.Is(err, journal.ErrInvalid), errors.Is(err, botmesh.ErrTooLarge):
		return http.StatusBadRequest
	case errors.Is(err, botmesh.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, botmesh.ErrConflict):
		return http.StatusConflict
	case errors.Is(err, botmesh.ErrRefused), errors.Is(err, botmesh.ErrUnknown), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// chatOf reads the chat of a request's path.
func chatOf(r *http.Request) (botmesh.ChatKey, error) {
	chat, err := botmesh.ParseChatKey(r.PathValue("chat"))
	if err != nil {
		return chat, wrongError{err}
	}
	return chat, nil
}
