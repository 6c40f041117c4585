package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// defaultWaiting is how long a chat may wait before the doctor tells of it.
const defaultWaiting = time.Minute

// Look asks one of an API's own pages, and reads its answer into out.
type Look func(ctx context.Context, path string, query url.Values, out any) error

// Servers look at what is below the bot. Both answers are shown as JSON.
type Servers interface {
	// Plan says what separates the streams that are there from those that are wanted.
	Plan(ctx context.Context) (any, error)
	// Examine says what will hurt: of the servers, and of the chats, at which it looks by
	// look, those that wait for longer than waiting.
	Examine(ctx context.Context, look Look, waiting time.Duration) (any, error)
}

// planStreams shows what separates the streams from the settings.
func (a *API) planStreams(ctx context.Context, _ *http.Request) (any, error) {
	if a.cfg.Servers == nil {
		return nil, absent("this program looks at no servers")
	}
	return a.cfg.Servers.Plan(ctx)
}

// examine shows what will hurt.
func (a *API) examine(ctx context.Context, r *http.Request) (any, error) {
	if a.cfg.Servers == nil {
		return nil, absent("this program looks at no servers")
	}
	waiting := defaultWaiting
	if text := r.FormValue("waiting"); text != "" {
		var err error
		if waiting, err = time.ParseDuration(text); err != nil || waiting < 0 {
			return nil, wrong(fmt.Sprintf("waiting is %q, want how long, such as 5m", text))
		}
	}
	return a.cfg.Servers.Examine(ctx, a.look, waiting)
}

// look is a [Look] at this API, by who was let in already.
func (a *API) look(ctx context.Context, path string, query url.Values, out any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, path+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	resp, err := Inside(&a.mux)(r)
	if err != nil {
		return err
	}
	if resp.StatusCode == http.StatusOK {
		return json.NewDecoder(resp.Body).Decode(out)
	}
	var said struct{ Error string }
	_ = json.NewDecoder(resp.Body).Decode(&said) // without it the status says what it can
	return errors.New(resp.Status + ": " + said.Error)
}

// Inside has a handler answer requests in this process, for who makes them as a client does.
func Inside(h http.Handler) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		w := &kept{head: http.Header{}, status: http.StatusOK}
		h.ServeHTTP(w, r)
		return &http.Response{Status: http.StatusText(w.status), StatusCode: w.status, Header: w.head, Body: io.NopCloser(&w.body)}, nil
	}
}

// kept keeps an answer.
type kept struct {
	head   http.Header
	status int
	body   bytes.Buffer
}

func (k *kept) Header() http.Header         { return k.head }
func (k *kept) WriteHeader(status int)      { k.status = status }
func (k *kept) Write(b []byte) (int, error) { return k.body.Write(b) }
