package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// maxAct bounds the body of a request to act, in bytes.
const maxAct = 16 << 10

// failedTime bounds the logging of an act's failure, whose request may be over.
const failedTime = 5 * time.Second

// Did is the answer to a request to act: what was logged of it, and done.
type Did struct {
	acts.Act
	// DryRun says that nothing was logged or done: what would be.
	DryRun bool `json:"dry_run,omitempty"`
	// Unchanged says that nothing was logged or done, since it is so already.
	Unchanged bool `json:"unchanged,omitempty"`
	// Was and Now are Before and After in words for people.
	Was string `json:"was,omitempty"`
	Now string `json:"now,omitempty"`
}

// intent is an act that is about to be done.
type intent struct {
	acts.Act
	before, after any
	was, now      string // the same in words for people
	dry           bool   // it is not to be done, whatever the request says
	unchanged     bool   // it is so already
	do            func(ctx context.Context) error
}

// act logs an act and does it, unless the request has dry_run=1. A crash in between
// leaves an act that was logged and not done: whoever asked has no answer, and looks.
func (a *API) act(ctx context.Context, rooms *Rooms, r *http.Request, i intent) (Did, error) {
	i.By = actorOf(r)
	var err error
	if i.Before, err = json.Marshal(i.before); err == nil {
		i.After, err = json.Marshal(i.after)
	}
	if err != nil {
		return Did{}, fmt.Errorf("admin: %s: %w", i.Verb, err)
	}
	did := Did{Act: i.Act, DryRun: i.dry || r.FormValue("dry_run") != "", Unchanged: i.unchanged, Was: i.was, Now: i.now}
	if did.DryRun || did.Unchanged {
		return did, nil
	}
	done, err := rooms.Acts.Write(ctx, i.Act)
	if err != nil {
		return Did{}, err
	}
	if err := i.do(ctx); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), failedTime)
		defer cancel()
		done.Failed = err.Error()
		if _, lerr := rooms.Acts.Write(ctx, done); lerr != nil {
			a.cfg.Logger.WarnContext(ctx, "the failure of an act was not logged", "err", lerr)
		}
		return Did{}, err
	}
	a.cfg.Logger.InfoContext(ctx, "an operator acted", "kind", i.Verb)
	did.Act = done
	return did, nil
}

func actorOf(r *http.Request) string {
	if by := r.Header.Get(ActorHeader); by != "" {
		return by[:min(len(by), maxKey)]
	}
	return "api"
}

// readAct reads the body of a request to act; an empty one is all defaults.
func readAct(r *http.Request, into any) error {
	d := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxAct))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return wrongError{fmt.Errorf("the request can not be read: %w", err)}
	}
	return nil
}

// listActs shows what operators did, the newest of it, to one chat or to all.
func (a *API) listActs(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	limit, err := number(r, "limit", defaultTimeline, maxTimeline)
	if err != nil {
		return nil, err
	}
	var of *botmesh.ChatKey
	if text := r.FormValue("chat"); text != "" {
		chat, err := botmesh.ParseChatKey(text)
		if err != nil {
			return nil, wrongError{err}
		}
		of = &chat
	}
	return rooms.Acts.List(ctx, of, jet.Window{Limit: limit, Newest: true})
}
