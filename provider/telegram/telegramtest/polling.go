package telegramtest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/botmesh-go/botmesh/provider/fakeplatform"
)

// The words with which Telegram refuses to be polled.
const (
	taken   = "terminated by other getUpdates request; make sure that only one bot instance is running"
	hooked  = "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
	maxPoll = 100 // updates of one answer
)

// polling is the side of Telegram that is asked for updates. It is guarded by the
// server's lock.
type polling struct {
	queue     []queued // what was not confirmed, by number
	confirmed []int64  // what was, in order
	webhook   string   // its address, empty for none
	failed    string   // why the last post there was in vain, and when
	failedAt  time.Time
	faults    []fakeplatform.Fault // of the next polls
	polls     int                  // calls of getUpdates
	evict     chan struct{}        // closed to end the poll that waits, nil if none does
	grown     chan struct{}        // closed and replaced when queue has grown
}

// queued is an update that waits to be fetched.
type queued struct {
	id   int64
	body []byte
}

// Offer has an update wait for whoever polls, in the order of the numbers. It is
// there until it is confirmed.
func (s *Server) Offer(updateID int64, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.polling.queue = append(s.polling.queue, queued{updateID, bytes.Clone(body)})
	slices.SortStableFunc(s.polling.queue, func(a, b queued) int { return int(a.id - b.id) })
	close(s.polling.grown)
	s.polling.grown = make(chan struct{})
}

// Confirmed are the numbers of the updates that were confirmed, in order.
func (s *Server) Confirmed() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.polling.confirmed)
}

// Polls counts the calls of getUpdates, those that were refused included.
func (s *Server) Polls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.polling.polls
}

// NextPoll has the next polls meet these faults, one each.
func (s *Server) NextPoll(faults ...fakeplatform.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.polling.faults = append(s.polling.faults, faults...)
}

func (s *Server) getUpdates(w http.ResponseWriter, r *http.Request, body []byte) {
	var q struct {
		Offset  int64
		Limit   int
		Timeout int
	}
	if err := json.Unmarshal(body, &q); err != nil {
		badRequest("can't parse the request").Answer(w)
		return
	}
	if q.Limit <= 0 || q.Limit > maxPoll {
		q.Limit = maxPoll
	}
	mine, f := s.beginPoll(q.Offset)
	if f.Hang {
		<-r.Context().Done()
		return
	}
	if f.Status != 0 {
		f.Answer(w)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(q.Timeout)*time.Second)
	defer cancel()
	updates, evicted := s.awaitUpdates(ctx, mine, q.Limit)
	switch {
	case r.Context().Err() != nil:
	case evicted:
		Refusal(http.StatusConflict, taken).Answer(w)
	default:
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": updates})
	}
}

// beginPoll counts a poll, confirms what is below offset and throws out the poll
// that waits; or says what the poll meets instead.
func (s *Server) beginPoll(offset int64) (mine chan struct{}, f fakeplatform.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.polling
	p.polls++
	if len(p.faults) > 0 {
		f, p.faults = p.faults[0], p.faults[1:]
		return nil, f
	}
	if p.webhook != "" {
		return nil, Refusal(http.StatusConflict, hooked)
	}
	if p.evict != nil {
		close(p.evict)
	}
	mine = make(chan struct{})
	p.evict = mine
	p.queue = slices.DeleteFunc(p.queue, func(u queued) bool {
		if u.id < offset {
			p.confirmed = append(p.confirmed, u.id)
		}
		return u.id < offset
	})
	return mine, fakeplatform.Fault{}
}

// awaitUpdates returns up to limit updates as soon as there is one, or none when ctx
// ends; evicted, if another poll came.
func (s *Server) awaitUpdates(ctx context.Context, mine chan struct{}, limit int) (updates []json.RawMessage, evicted bool) {
	updates = []json.RawMessage{}
	for {
		s.mu.Lock()
		p := &s.polling
		evicted = p.evict != mine
		for _, u := range p.queue[:min(limit, len(p.queue))] {
			updates = append(updates, u.body)
		}
		grown := p.grown
		if !evicted && (len(updates) > 0 || ctx.Err() != nil) {
			p.evict = nil
		}
		s.mu.Unlock()
		if evicted || len(updates) > 0 || ctx.Err() != nil {
			return updates, evicted
		}
		select {
		case <-grown:
		case <-mine:
		case <-ctx.Done():
		}
	}
}

// Hook has a webhook set, to which the last post was in vain; an empty failed is that none was.
func (s *Server) Hook(url, failed string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.polling.webhook, s.polling.failed, s.polling.failedAt = url, failed, at
}

// getWebhookInfo tells of the webhook, and how many updates wait.
func (s *Server) getWebhookInfo(w http.ResponseWriter) {
	s.mu.Lock()
	result := map[string]any{"url": s.polling.webhook, "has_custom_certificate": false, "pending_update_count": len(s.polling.queue)}
	if s.polling.failed != "" {
		result["last_error_message"], result["last_error_date"] = s.polling.failed, s.polling.failedAt.Unix()
	}
	s.mu.Unlock()
	answer, err := json.Marshal(map[string]any{"ok": true, "result": result})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Write(answer)
}

// setWebhook takes the address of a webhook; an empty one is none.
func (s *Server) setWebhook(w http.ResponseWriter, body []byte) {
	var q struct{ URL string }
	if len(body) > 0 && json.Unmarshal(body, &q) != nil {
		badRequest("can't parse the request").Answer(w)
		return
	}
	s.mu.Lock()
	s.polling.webhook = q.URL
	if q.URL != "" && s.polling.evict != nil {
		close(s.polling.evict)
		s.polling.evict = nil
	}
	s.mu.Unlock()
	io.WriteString(w, `{"ok":true,"result":true}`)
}
