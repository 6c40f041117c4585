// Package admin is what backends and operators may ask of a bot, over HTTP: the
// pages below /v1 of a worker's private address.
//
//	POST /v1/chats/{chat}/send
//
// sends to a chat. The request becomes a record in the chat's own inbox, so that it
// takes its place among what the chat's user writes, and is sent once.
//
// Nothing here changes a chat. What is done to a chat happens under its turn, by the
// worker that holds it.
//
// What belongs here: authentication, bounds, and requests turned into records. What
// a record does is the bot's; how a chat is served, the dispatcher's.
package admin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/journal"
)

// ActorHeader is where a request says who makes it, for the log of acts. It is taken
// on trust: whoever has the token is believed.
const ActorHeader = "Botmesh-Actor"

// MinToken is the least length of a token, in bytes.
const MinToken = 16

const (
	// publishTime bounds how long a request waits for the journal.
	publishTime = 1500 * time.Millisecond
	// retryAfter is told with 503, in seconds.
	retryAfter = "1"
)

// Journal stores records. It is implemented by [journal.Publisher].
type Journal interface {
	Publish(ctx context.Context, r botmesh.Record) (journal.Placed, error)
}

// Config configures an [API].
type Config struct {
	// Token is what requests must carry: "Authorization: Bearer <token>". Required,
	// at least MinToken bytes.
	Token   string
	Journal Journal // required
	// Providers are the accounts that the bot sends by.
	Providers []string
	// Rooms returns what is looked at and acted on, nil while it is not open. Without
	// it there is only the sending.
	Rooms func() *Rooms
	// Servers looks at what is below the bot. Without it the pages for that are absent.
	Servers Servers
	Logger  *slog.Logger // defaults to discarding
}

// API answers the requests below /v1. Safe for concurrent use.
type API struct {
	cfg   Config
	token [sha256.Size]byte
	mux   http.ServeMux
}

// New checks cfg. The error joins everything that is wrong with it.
func New(cfg Config) (*API, error) {
	var errs []error
	if len(cfg.Token) < MinToken {
		errs = append(errs, fmt.Errorf("admin: Config.Token has %d bytes, want at least %d", len(cfg.Token), MinToken))
	}
	if cfg.Journal == nil {
		errs = append(errs, errors.New("admin: Config.Journal is required"))
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	a := &API{cfg: cfg, token: sha256.Sum256([]byte(cfg.Token))}
	a.mux.HandleFunc("POST /v1/chats/{chat}/send", a.send)
	a.mux.HandleFunc("POST /v1/chats/{chat}/retry", a.page(a.retrySends))
	a.mux.HandleFunc("GET /v1/outbox", a.page(a.listOutbox))
	a.mux.HandleFunc("GET /v1/dead", a.page(a.listDead))
	a.mux.HandleFunc("GET /v1/dead/{seq}", a.page(a.showDead))
	a.mux.HandleFunc("POST /v1/dead/{seq}/requeue", a.page(a.requeueDead))
	a.mux.HandleFunc("POST /v1/dead/{seq}/drop", a.page(a.dropDead))
	a.mux.HandleFunc("GET /v1/acts", a.page(a.listActs))
	a.mux.HandleFunc("POST /v1/chats/{chat}/pause", a.page(a.pauseChat))
	a.mux.HandleFunc("POST /v1/chats/{chat}/resume", a.page(a.resumeChat))
	a.mux.HandleFunc("POST /v1/chats/{chat}/replay", a.page(a.replayChat))
	a.mux.HandleFunc("POST /v1/chats/{chat}/hold", a.page(a.holdSends))
	a.mux.HandleFunc("POST /v1/chats/{chat}/release", a.page(a.releaseSends))
	a.mux.HandleFunc("POST /v1/chats/{chat}/drop", a.page(a.dropSend))
	a.mux.HandleFunc("GET /v1/streams/plan", a.answer(a.planStreams))
	a.mux.HandleFunc("GET /v1/doctor", a.answer(a.examine))
	a.mux.HandleFunc("GET /v1/journal", a.page(a.listRecords))
	a.mux.HandleFunc("GET /v1/tail", a.page(a.tail))
	a.mux.HandleFunc("GET /v1/leases", a.page(a.listLeases))
	a.mux.HandleFunc("POST /v1/leases/break", a.page(a.breakLease))
	a.mux.HandleFunc("GET /v1/chats", a.page(a.listChats))
	a.mux.HandleFunc("GET /v1/chats/{chat}", a.page(a.showChat))
	a.mux.HandleFunc("GET /v1/chats/{chat}/timeline", a.page(a.timeline))
	return a, nil
}

// ServeHTTP answers 401 to whoever does not know the token, before anything else
// is looked at.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(given)) // of equal length, so that the comparison tells nothing
	if !ok || subtle.ConstantTimeCompare(sum[:], a.token[:]) != 1 {
		w.Header().Set("WWW-Authenticate", "Bearer")
		refuse(w, http.StatusUnauthorized, "want the header Authorization: Bearer <BOTMESH_ADMIN_TOKEN>")
		return
	}
	a.mux.ServeHTTP(w, r)
}

// chat reads the chat of a request's path, and answers if there is none.
func (a *API) chat(w http.ResponseWriter, r *http.Request) (botmesh.ChatKey, bool) {
	chat, err := botmesh.ParseChatKey(r.PathValue("chat"))
	switch {
	case err != nil:
		refuse(w, http.StatusBadRequest, fmt.Sprintf("chat: %v; want a key as /whoami tells it, URL-encoded: telegram%%2F42", err))
	case !slices.Contains(a.cfg.Providers, chat.Provider):
		refuse(w, http.StatusNotFound, fmt.Sprintf("no account %q here; there are: %s", chat.Provider, strings.Join(a.cfg.Providers, ", ")))
	default:
		return chat, true
	}
	return botmesh.ChatKey{}, false
}

func refuse(w http.ResponseWriter, status int, text string) {
	answer(w, status, map[string]string{"error": text})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who asked may be gone
}
