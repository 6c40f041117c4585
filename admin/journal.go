package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/journal"
)

const (
	defaultRecords = 100
	// maxWhole bounds records that are shown in full, each of up to half a megabyte.
	maxWhole = 200
)

// Record is a record of the journal as it is shown.
type Record struct {
	Seq     uint64             `json:"seq"`
	Stored  time.Time          `json:"stored"`
	Chat    string             `json:"chat"`
	Type    botmesh.RecordType `json:"type"`
	ID      string             `json:"id"`
	User    string             `json:"user,omitempty"`
	SentAt  time.Time          `json:"sent_at,omitzero"`
	Message *botmesh.Message   `json:"message,omitempty"`
	Raw     json.RawMessage    `json:"raw,omitempty"`
	Error   string             `json:"error,omitempty"`
}

// ListRecords lists what a journal has, in its order, without what the records say, or whole.
// Errors are those of [journal.Journal.List].
func ListRecords(ctx context.Context, j *journal.Journal, f journal.Filter, whole bool) ([]Record, error) {
	entries, err := j.List(ctx, f)
	if err != nil {
		return nil, err
	}
	all := make([]Record, len(entries))
	for i, e := range entries {
		r := e.Record
		all[i] = Record{Seq: r.Seq, Stored: r.Stored.UTC(), Chat: r.Chat.String(), Type: r.Type, ID: r.ID, User: r.User, SentAt: r.SentAt}
		if whole {
			all[i].Message, all[i].Raw = &r.Message, r.Raw
		}
		if e.Err != nil {
			all[i].Error = e.Err.Error()
		}
	}
	return all, nil
}

// listRecords shows the records of a chat, or of all: the first of a range, or with last=…
// the newest. Nothing of what anybody wrote is among it unless text=1 asks for that.
func (a *API) listRecords(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	whole := r.FormValue("text") != ""
	most := journal.MaxList
	if whole {
		most = maxWhole
	}
	f, err := filterOf(r, most)
	if err != nil {
		return nil, err
	}
	return ListRecords(ctx, rooms.Journal, f, whole)
}

// filterOf reads which records a request is about, at most so many.
func filterOf(r *http.Request, most int) (f journal.Filter, err error) {
	if text := r.FormValue("chat"); text != "" {
		if f.Chat, err = botmesh.ParseChatKey(text); err != nil {
			return f, wrongError{err}
		}
	}
	for name, seq := range map[string]*uint64{"from": &f.From, "to": &f.To} {
		if text := r.FormValue(name); text != "" {
			if *seq, err = strconv.ParseUint(text, 10, 64); err != nil {
				return f, wrong(fmt.Sprintf("%s is %q, want a sequence", name, text))
			}
		}
	}
	for name, at := range map[string]*time.Time{"since": &f.Since, "until": &f.Until} {
		if text := r.FormValue(name); text != "" {
			if *at, err = time.Parse(time.RFC3339, text); err != nil {
				return f, wrong(fmt.Sprintf("%s is %q, want a time as 2006-01-02T15:04:05Z", name, text))
			}
		}
	}
	if f.Newest = r.FormValue("last") != ""; f.Newest {
		f.Limit, err = number(r, "last", defaultRecords, most)
	} else {
		f.Limit, err = number(r, "limit", defaultRecords, most)
	}
	return f, err
}
