package webchat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

const (
	// heartbeat is how often a silent stream says that it is there, so that
	// proxies keep it and a dead page is noticed.
	heartbeat = 15 * time.Second
	// streamAge is how long a stream lasts. The page comes back at once; so pages
	// spread again over the ingresses that are there.
	streamAge = time.Hour
	// writeTimeout bounds how long a page may take to take an event.
	writeTimeout = 10 * time.Second
	// comeBack is when a page whose stream broke comes back.
	comeBack = 2 * time.Second
)

// event is a letter as the page gets it.
type event struct {
	At    time.Time   `json:"at"`
	Parts []eventPart `json:"parts"`
}

type eventPart struct {
	ID string `json:"id"`
	// Replaces is the id of the part whose place this one takes, if it takes one's.
	Replaces string `json:"replaces,omitempty"`
	Text     string `json:"text"`
	// Runs are the text in its styles, if it has any.
	Runs    []provider.Run  `json:"runs,omitempty"`
	Media   *eventMedia     `json:"media,omitempty"`
	Buttons [][]eventButton `json:"buttons,omitempty"`
}

// eventMedia is a file, by its http or https address.
type eventMedia struct {
	Kind string `json:"kind"`
	URL  string `json:"url"`
	Name string `json:"name,omitempty"`
}

type eventButton struct {
	Label   string `json:"label"`
	Payload string `json:"payload"`
	// Sig says that the bot offered this button below this part.
	Sig string `json:"sig"`
}

func (c *Chat) event(l botmesh.Letter) event {
	e := event{At: l.At}
	for _, p := range l.Parts {
		part := eventPart{ID: p.ID, Replaces: cmp.Or(l.Replaced(p), p.Send.Edits), Text: p.Send.Text}
		if m := p.Send.Media; m != nil && m.URL != "" && p.Send.Validate() == nil {
			part.Media = &eventMedia{m.Kind, m.URL, m.Name}
		}
		if words := (botmesh.Send{Text: p.Send.Text, Spans: p.Send.Spans}); len(words.Spans) > 0 && words.Validate() == nil {
			part.Runs = provider.Runs(words)
		}
		for _, row := range p.Send.Buttons {
			var out []eventButton
			for _, b := range row {
				out = append(out, eventButton{b.Label, b.Payload, c.sign(asButton, l.Chat.Chat, p.ID, b.Payload)})
			}
			part.Buttons = append(part.Buttons, out)
		}
		e.Parts = append(e.Parts, part)
	}
	return e
}

// posted is a letter with its place.
type posted struct {
	seq    uint64
	letter botmesh.Letter
}

// events streams what the bot says in the session's chat, from after the last
// event that the page has.
func (c *Chat) events(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	chat, err := c.chat(r.Header)
	if err != nil || r.URL.Query().Get("chat") != chat {
		http.Error(w, errSession.Error(), http.StatusUnauthorized)
		return
	}
	after, err := lastEvent(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !c.enter(chat) {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "webchat: too many pages are open", http.StatusServiceUnavailable)
		return
	}
	defer c.leave(chat)
	ctx, cancel := context.WithTimeout(r.Context(), streamAge)
	defer cancel()
	defer context.AfterFunc(c.done, cancel)()

	key := botmesh.ChatKey{Provider: c.cfg.ID, Chat: chat}
	letters := make(chan posted)
	followed := make(chan struct{})
	var failure error
	go func() {
		defer close(followed)
		failure = c.cfg.Letters.Follow(ctx, key, after, func(seq uint64, l botmesh.Letter) error {
			select {
			case letters <- posted{seq, l}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	c.stream(ctx, w, letters, followed)
	ended := ctx.Err() != nil
	cancel() // Follow may stand at a letter that nobody takes
	<-followed
	if !ended && failure != nil && !errors.Is(failure, context.Canceled) {
		c.outage.Do(func() { c.cfg.Logger.WarnContext(r.Context(), "following a web chat failed", "err", failure) })
	}
}

// lastEvent is the sequence after which the page wants letters, zero for all. A
// browser that comes back by itself says it in the header.
func lastEvent(r *http.Request) (uint64, error) {
	s := r.Header.Get("Last-Event-ID")
	if s == "" {
		s = r.URL.Query().Get("after")
	}
	if s == "" {
		return 0, nil
	}
	after, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("webchat: %q is not the id of an event", s)
	}
	return after, nil
}

// enter counts a stream, and reports whether there is room for it.
func (c *Chat) enter(chat string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.open >= c.cfg.MaxStreams || c.streams[chat] >= maxChatStreams {
		return false
	}
	c.open++
	c.streams[chat]++
	c.running.Add(1)
	return true
}

func (c *Chat) leave(chat string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	if c.streams[chat]--; c.streams[chat] == 0 {
		delete(c.streams, chat)
	}
	c.running.Done()
}

// stream writes letters until ctx ends, the page is gone or following ended.
func (c *Chat) stream(ctx context.Context, w http.ResponseWriter, letters <-chan posted, followed <-chan struct{}) {
	out, err := newStream(w)
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for err == nil {
		select {
		case p := <-letters:
			var data []byte
			if data, err = json.Marshal(c.event(p.letter)); err == nil {
				err = out.write("id: " + strconv.FormatUint(p.seq, 10) + "\ndata: " + string(data) + "\n\n")
			}
		case <-tick.C:
			err = out.write(": still here\n\n")
		case <-followed:
			return
		case <-ctx.Done():
			return
		}
	}
}

// stream is an answer of server-sent events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func newStream(w http.ResponseWriter) (*stream, error) {
	s := &stream{w: w, control: http.NewResponseController(w)}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // or some proxies hold the events back
	return s, s.write(fmt.Sprintf("retry: %d\n\n", comeBack.Milliseconds()))
}

// write writes text and sends it off. An error means that the page is gone, or
// does not read.
func (s *stream) write(text string) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := io.WriteString(s.w, text); err != nil {
		return err
	}
	return s.control.Flush()
}
