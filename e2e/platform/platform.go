// Package platform plays Telegram from both of its sides: it posts webhooks as the
// platform does, and serves the API that replies are sent to, keeping a log of
// every call it took.
//
// What belongs here: what the platform does and what it saw. Whether that is
// right does not: that is package check's.
package platform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/botmesh-go/botmesh/e2e/check"
)

// Config configures a platform.
type Config struct {
	// API answers the bot's calls, as Telegram would under its base address. Only
	// what it answers with 200 was taken.
	API http.Handler
	// Token is the bot's, Secret what the webhooks carry.
	Token  string
	Secret string
	// Watch, if set, is told each call as it arrives, and gives the function that is
	// told what becomes of it, before the caller is. Both are called for several
	// calls at once.
	Watch func(check.Call) func(Fate)
}

// Fate is what became of a call.
type Fate struct {
	// Taken says that the user sees the message, Told that the caller was answered
	// with success.
	Taken, Told bool
	// Status is the answer's, zero if none was given.
	Status int
}

// Platform is a running platform. Safe for concurrent use.
type Platform struct {
	cfg    Config
	began  time.Time
	server *http.Server
	served chan struct{}
	base   string
	client *http.Client
	update atomic.Int64 // the last update_id given out
	delay  atomic.Int64 // of each call, nanoseconds

	weather atomic.Pointer[func(chat string) Weather]

	mu    sync.Mutex
	calls []*call
	chats map[string]*chat
}

// call is one call of the API; taken once answered with 200.
type call struct {
	check.Call
	taken bool
}

// chat is what one chat got.
type chat struct {
	texts   []string
	changed chan struct{} // closed when texts has grown
}

// Start begins to serve on a loopback port. The caller closes it.
func Start(cfg Config) (*Platform, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("platform: %w", err)
	}
	p := &Platform{
		cfg:    cfg,
		began:  time.Now(),
		served: make(chan struct{}),
		base:   "http://" + l.Addr().String(),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}},
		chats:  map[string]*chat{},
	}
	if p.cfg.Watch == nil {
		p.cfg.Watch = func(check.Call) func(Fate) { return func(Fate) {} }
	}
	p.Weather(nil)
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve), ReadHeaderTimeout: 5 * time.Second}
	go func() {
		defer close(p.served)
		_ = p.server.Serve(l) // until Close
	}()
	return p, nil
}

// Close ends the server and what is in flight, and waits for it.
func (p *Platform) Close() error {
	err := p.server.Close()
	<-p.served
	p.client.CloseIdleConnections()
	return err
}

// Now is the time since the platform began, the clock of its log.
func (p *Platform) Now() time.Duration { return time.Since(p.began) }

// API is the one of its Config.
func (p *Platform) API() http.Handler { return p.cfg.API }

// Token is the bot's token.
func (p *Platform) Token() string { return p.cfg.Token }

// Secret is the secret that the webhooks carry.
func (p *Platform) Secret() string { return p.cfg.Secret }

// Delay makes each call take that long from now on, as the way to a platform does.
// A call is taken all the same when its caller is gone before.
func (p *Platform) Delay(d time.Duration) { p.delay.Store(int64(d)) }

// URL is the base address of the API for one process: its calls are logged under
// that name.
func (p *Platform) URL(process string) string { return p.base + "/" + process }

// maxRequest bounds what is read of a call.
const maxRequest = 1 << 20

func (p *Platform) serve(w http.ResponseWriter, r *http.Request) {
	process, path, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if !ok {
		http.Error(w, "the path names no process", http.StatusNotFound)
		return
	}
	if path, ok := strings.CutSuffix(path, "/getUpdates"); ok { // it sends nothing
		r.URL.Path, r.URL.RawPath = "/"+path+"/getUpdates", ""
		p.cfg.API.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var send struct {
		Chat json.Number `json:"chat_id"`
		Text string      `json:"text"`
	}
	_ = json.Unmarshal(body, &send) // the API refuses what is no call
	c := p.arrive(check.Call{Chat: send.Chat.String(), Text: send.Text, By: process})
	weather := (*p.weather.Load())(c.Chat)
	fate := p.cfg.Watch(c.Call)
	if d := time.Duration(p.delay.Load()) + weather.Delay; d > 0 {
		<-time.After(d)
	}
	r.URL.Path, r.URL.RawPath = "/"+path, ""
	r.Body = io.NopCloser(bytes.NewReader(body))
	fate(p.decide(c, weather, w, r))
	switch {
	case weather.Lose:
		<-r.Context().Done()
	case weather.Status != 0:
		weather.refuse(w)
	}
}

// decide has the API answer a call, as far as the weather lets it.
func (p *Platform) decide(c *call, weather Weather, w http.ResponseWriter, r *http.Request) Fate {
	f := Fate{Status: weather.Status}
	if weather.Status == 0 || weather.Taken {
		answer := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		if weather.hides() {
			answer.ResponseWriter = hidden{http.Header{}}
		}
		p.cfg.API.ServeHTTP(answer, r)
		f.Taken = answer.status == http.StatusOK
		if !weather.hides() {
			f.Status, f.Told = answer.status, f.Taken && r.Context().Err() == nil
		}
	}
	p.answered(c, f.Taken)
	return f
}

func (p *Platform) arrive(c check.Call) *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.At, c.Done = p.Now(), 1<<62
	logged := &call{Call: c}
	p.calls = append(p.calls, logged)
	return logged
}

func (p *Platform) answered(c *call, taken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.Done, c.taken = p.Now(), taken
	if !taken {
		return
	}
	ch := p.chat(c.Chat)
	ch.texts = append(ch.texts, c.Text)
	close(ch.changed)
	ch.changed = make(chan struct{})
}

// chat is called with the lock held.
func (p *Platform) chat(id string) *chat {
	ch := p.chats[id]
	if ch == nil {
		ch = &chat{changed: make(chan struct{})}
		p.chats[id] = ch
	}
	return ch
}

// statusWriter keeps the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Calls are the calls that were taken, in order of their arrival.
func (p *Platform) Calls() []check.Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]check.Call, 0, len(p.calls))
	for _, c := range p.calls {
		if c.taken {
			out = append(out, c.Call)
		}
	}
	return out
}

// Texts are what a chat got, repeats included.
func (p *Platform) Texts(chat int64) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	ch := p.chat(strconv.FormatInt(chat, 10))
	return ch.texts[:len(ch.texts):len(ch.texts)]
}

// Await waits until what a chat got is enough.
func (p *Platform) Await(ctx context.Context, chat int64, enough func(texts []string) bool) error {
	for {
		p.mu.Lock()
		ch := p.chat(strconv.FormatInt(chat, 10))
		texts, changed := ch.texts[:len(ch.texts):len(ch.texts)], ch.changed
		p.mu.Unlock()
		if enough(texts) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("platform: chat %d got %s: %w", chat, brief(texts), context.Cause(ctx))
		}
	}
}

// AwaitText waits until a chat got a text.
func (p *Platform) AwaitText(ctx context.Context, chat int64, text string) error {
	err := p.Await(ctx, chat, func(texts []string) bool {
		for _, t := range texts {
			if t == text {
				return true
			}
		}
		return false
	})
	if err != nil {
		return fmt.Errorf("%w, waiting for %q", err, text)
	}
	return nil
}

// brief tells the end of what a chat got.
func brief(texts []string) string {
	if over := len(texts) - 5; over > 0 {
		return fmt.Sprintf("%d texts and %q", over, texts[over:])
	}
	return fmt.Sprintf("%q", texts)
}

// ErrNotTaken says that a webhook was not answered with success.
var ErrNotTaken = errors.New("platform: webhook not taken")
