package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/google/uuid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/markdown"
)

const (
	maxSend = 128 << 10 // bytes of a request's body
	maxKey  = 256       // bytes of an Idempotency-Key
)

// Sent is the answer to a send: it is in the chat's inbox.
type Sent struct {
	// Seq is its place in the journal.
	Seq uint64 `json:"seq"`
	// Duplicate says that a request with the same Idempotency-Key was taken before.
	Duplicate bool `json:"duplicate,omitempty"`
}

// send journals a message to a chat.
//
//	202  it will be sent, once, after what the chat's inbox holds already
//	400  not a message, not a chat
//	404  no such account
//	503  not stored, or not known to be: repeat it, with the same Idempotency-Key
func (a *API) send(w http.ResponseWriter, r *http.Request) {
	chat, ok := a.chat(w, r)
	if !ok {
		return
	}
	key := r.Header.Get("Idempotency-Key")
	if len(key) > maxKey {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("an Idempotency-Key of %d bytes, want at most %d", len(key), maxKey))
		return
	}
	message, err := readSend(http.MaxBytesReader(w, r.Body, maxSend))
	if err != nil {
		status := http.StatusBadRequest
		if errors.As(err, new(*http.MaxBytesError)) {
			status = http.StatusRequestEntityTooLarge
		}
		refuse(w, status, err.Error())
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), publishTime)
	defer cancel()
	placed, err := a.cfg.Journal.Publish(ctx, botmesh.Record{
		Type: botmesh.TypeCommand, ID: commandID(chat, key), Chat: chat, Sends: []botmesh.Send{message},
	})
	switch {
	case errors.Is(err, journal.ErrInvalid), errors.Is(err, botmesh.ErrTooLarge):
		refuse(w, http.StatusBadRequest, err.Error())
	case err != nil:
		a.cfg.Logger.WarnContext(ctx, "a send was not journaled", "chat", chat, "err", err)
		w.Header().Set("Retry-After", retryAfter)
		refuse(w, http.StatusServiceUnavailable, "not stored, or not known to be: repeat it with the same Idempotency-Key")
	default:
		answer(w, http.StatusAccepted, Sent(placed))
	}
}

func readSend(body io.Reader) (botmesh.Send, error) {
	var in struct {
		botmesh.Send
		// Markdown is the text and its spans, see [markdown.Send].
		Markdown string `json:"markdown"`
	}
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	err := d.Decode(&in)
	s := in.Send
	if err != nil {
		return s, fmt.Errorf(`want {"text": "…"} or {"markdown": "…"}, media and buttons if you like: %w`, err)
	}
	if in.Markdown != "" {
		if s.Text != "" || s.Spans != nil {
			return s, errors.New("want either markdown or a text, got both")
		}
		formatted := markdown.Send(in.Markdown)
		s.Text, s.Spans = formatted.Text, formatted.Spans
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return s, errors.New("want one message, got more")
	}
	if s.Text == "" && s.Media == nil {
		return s, errors.New("the text is empty, and there is no file")
	}
	return s, s.Validate()
}

// commandID is the record's id: of a chat's requests with one key the first counts.
func commandID(chat botmesh.ChatKey, key string) string {
	if key == "" {
		return "send:" + uuid.NewString()
	}
	sum := sha256.Sum256([]byte(chat.Key() + "\n" + key))
	return "send:" + hex.EncodeToString(sum[:16])
}
