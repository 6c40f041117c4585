package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/examples/demo"
	"github.com/botmesh-go/botmesh/flow/flowtest"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/worker"
)

// phone is a platform: what it was given, by chat.
type phone struct {
	mu    sync.Mutex
	heard map[string][]botmesh.Send
}

func (*phone) ID() string                              { return "phone" }
func (*phone) Split(s botmesh.Send) []botmesh.Send     { return []botmesh.Send{s} }
func (*phone) MaxBody() int64                          { return 1 << 10 }
func (*phone) Verify(h http.Header, body []byte) error { return nil }

func (*phone) Parse(h http.Header, body []byte) ([]botmesh.Record, error) {
	return []botmesh.Record{called("1", "posted", string(body))}, nil
}

func (p *phone) Call(ctx context.Context, c provider.Call) (provider.Sent, error) {
	if c.Send.Text == "never" {
		return provider.Sent{}, provider.Permanent(errors.New("phone: never"))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.heard == nil {
		p.heard = map[string][]botmesh.Send{}
	}
	p.heard[c.Chat.Chat] = append(p.heard[c.Chat.Chat], c.Send)
	return provider.Sent{}, nil
}

// take returns what was heard since the last take.
func (p *phone) take(chat string) []botmesh.Send {
	p.mu.Lock()
	defer p.mu.Unlock()
	heard := p.heard[chat]
	delete(p.heard, chat)
	return heard
}

func called(chat, id, text string) botmesh.Record {
	return botmesh.Record{
		Type: botmesh.TypeMessage, ID: id, User: "u", Chat: botmesh.ChatKey{Provider: "phone", Chat: chat},
		Message: botmesh.Message{Text: text},
	}
}

// local runs a bot in a bubble, until play has returned.
func local(t *testing.T, b *bot.Bot, play func(l *worker.Local, p *phone)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &phone{}
		l, err := worker.NewLocal(worker.LocalConfig{Bot: b, Senders: []provider.Sender{p}, Receivers: []provider.Receiver{p}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.Run(ctx) }()
		play(l, p)
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: got error %v, want none", err)
		}
	})
}

// transcript plays lines as flowtest.Transcript does, a minute apart.
func transcript(t *testing.T, l *worker.Local, p *phone, lines []string) string {
	t.Helper()
	var out strings.Builder
	var buttons []botmesh.Button
	for i, line := range lines {
		r := called("1", strconv.Itoa(i), line)
		if label, tap := strings.CutPrefix(line, "! "); tap {
			at := slices.IndexFunc(buttons, func(b botmesh.Button) bool { return b.Label == label })
			if at < 0 {
				t.Fatalf("no button %q among %v", label, buttons)
			}
			r.Type, r.Message = botmesh.TypeCallback, botmesh.Message{Payload: buttons[at].Payload}
			out.WriteString(line + "\n")
		} else {
			out.WriteString("> " + line + "\n")
		}
		if err := l.Receive(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // of the bubble
		for _, s := range p.take("1") {
			out.WriteString("< " + strings.ReplaceAll(s.Text, "\n", "\n  "))
			for _, b := range slices.Concat(s.Buttons...) {
				out.WriteString(" [" + b.Label + "]")
			}
			out.WriteString("\n")
			if len(s.Buttons) > 0 {
				buttons = slices.Concat(s.Buttons...)
			}
		}
	}
	return out.String()
}

// SPEC: D1. The demo bot says in one process, with no server, what its own tests say.
func TestLocalKeepsTheDemoBotsContract(t *testing.T) {
	t.Parallel()
	chats := [][]string{
		{"/start", "/echo hello", "/echo", "/count", "/count", "hi", "/burst 3", "/slow 2", "/cancel", "/nothing"},
		{"/order", "tea", "none", "/count", "2", "! Yes", "/quiz", "4", "Paris", "9", "/order", "/cancel"},
	}
	files, err := filepath.Glob("../examples/demo/testdata/*.chat")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files, error %v, want the chats of the demo bot", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			if said, ok := strings.CutPrefix(line, "> "); ok {
				lines = append(lines, said)
			} else if strings.HasPrefix(line, "! ") {
				lines = append(lines, line)
			}
		}
		chats = append(chats, lines)
	}
	for _, lines := range chats {
		local(t, demo.Bot(), func(l *worker.Local, p *phone) {
			got := transcript(t, l, p, lines)
			if diff := cmp.Diff(flowtest.Transcript(demo.Bot(), lines...), got); diff != "" {
				t.Errorf("the chat (-flowtest +local):\n%s", diff)
			}
		})
	}
}

// SPEC: D1 J2 J8 S2. What a fleet does, one process does too: retries, timers, repetitions.
func TestLocalTriesAgainWakesAndKnowsRepetitions(t *testing.T) {
	t.Parallel()
	local(t, demo.Bot(), func(l *worker.Local, p *phone) {
		texts := func(after time.Duration) (all []string) {
			time.Sleep(after) // of the bubble
			for _, s := range p.take("1") {
				all = append(all, s.Text)
			}
			return all
		}
		for _, step := range []struct {
			say   string
			after time.Duration
			want  []string
		}{
			{"/fail 2", time.Minute, []string{"recovered after 2"}},
			{"/poison", time.Minute, nil},
			{"/remind 10m tea", time.Minute, []string{"ok"}},
			{"/count", 10 * time.Minute, []string{"count: 1", "reminder: tea"}},
			{"/count", time.Minute, nil}, // the same one again
			{"hi", time.Minute, []string{"you said: hi"}},
			{"/burst 50", time.Minute, nil},
		} {
			if err := l.Receive(t.Context(), called("1", step.say, step.say)); err != nil {
				t.Fatal(err)
			}
			got := texts(step.after)
			if step.say == "/burst 50" {
				for i := range 50 {
					step.want = append(step.want, fmt.Sprintf("%d/50", i+1))
				}
			}
			if diff := cmp.Diff(step.want, got); diff != "" {
				t.Errorf("after %s (-want +got):\n%s", step.say, diff)
			}
		}
	})
}

// What the platform will never take comes back to the bot here, too.
//
// SPEC: O5 D1
func TestLocalTellsTheBotOfSendsThatFailed(t *testing.T) {
	t.Parallel()
	b := bot.New().
		Command("/never", func(c *bot.Context) error { c.Say("never"); return nil }).
		OnSendFailed(func(c *bot.Context) error { c.Sayf("lost: %s", c.Record().Failed.Send.Text); return nil })
	local(t, b, func(l *worker.Local, p *phone) {
		if err := l.Receive(t.Context(), called("1", "1", "/never")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		time.Sleep(time.Minute)
		if got := p.take("1"); len(got) != 1 || got[0].Text != "lost: never" {
			t.Errorf("got %v, want what the bot says of it", got)
		}
	})
}

// SPEC: D1 T2. Each chat is a line of its own, and what is said in it is answered in order.
func TestLocalKeepsTheOrderOfEachChat(t *testing.T) {
	t.Parallel()
	local(t, demo.Bot(), func(l *worker.Local, p *phone) {
		const chats, messages = 20, 10
		var said sync.WaitGroup
		for chat := range chats {
			said.Go(func() {
				for n := range messages {
					if err := l.Receive(t.Context(), called(strconv.Itoa(chat), fmt.Sprint(chat, ".", n), strconv.Itoa(n))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		said.Wait()
		time.Sleep(time.Minute) // of the bubble
		for chat := range chats {
			heard := p.take(strconv.Itoa(chat))
			for n, s := range heard {
				if want := fmt.Sprintf("you said: %d", n); s.Text != want {
					t.Fatalf("chat %d, message %d: got %q, want %q", chat, n, s.Text, want)
				}
			}
			if len(heard) != messages {
				t.Errorf("chat %d: got %d messages, want %d", chat, len(heard), messages)
			}
		}
	})
}

func TestLocalTakesWebhooks(t *testing.T) {
	t.Parallel()
	local(t, demo.Bot(), func(l *worker.Local, p *phone) {
		w := httptest.NewRecorder()
		l.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/webhooks/phone", strings.NewReader("hello")))
		time.Sleep(time.Minute) // of the bubble
		heard := p.take("1")
		if w.Code != http.StatusOK || len(heard) != 1 || heard[0].Text != "you said: hello" {
			t.Errorf("got %d and %v, want 200 and an answer", w.Code, heard)
		}
	})
}

// line is a session that brings one message each second.
type line struct {
	provider.Session
	opened, open atomic.Int64
}

func (*line) ID() string { return "phone" }

func (*line) Parse(item []byte) ([]botmesh.Record, error) {
	return []botmesh.Record{called("1", string(item), string(item))}, nil
}

func (l *line) Run(ctx context.Context, sink provider.Sink) error {
	l.opened.Add(1)
	l.open.Add(1)
	defer l.open.Add(-1)
	for n := 0; ; n++ {
		if err := sink.Store(ctx, [][]byte{[]byte(strconv.Itoa(n))}); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// SPEC: D1. The transport is connected once, and what it brings is answered.
func TestLocalHoldsASession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, s := &phone{}, &line{}
		l, err := worker.NewLocal(worker.LocalConfig{Bot: demo.Bot(), Senders: []provider.Sender{p}, Sessions: []provider.Session{s}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 9500*time.Millisecond)
		defer stop()
		if err := l.Run(ctx); err != nil {
			t.Errorf("Run: got error %v, want none", err)
		}
		heard := p.take("1")
		if len(heard) != 10 || heard[9].Text != "you said: 9" {
			t.Errorf("got %v, want ten answers", heard)
		}
		if s.opened.Load() != 1 || s.open.Load() != 0 {
			t.Errorf("got %d sessions, %d of them open at the end, want one that is closed", s.opened.Load(), s.open.Load())
		}
	})
}

// What was taken before the end is answered before Run returns.
func TestLocalDrains(t *testing.T) {
	t.Parallel()
	p := &phone{}
	local(t, demo.Bot(), func(l *worker.Local, q *phone) {
		p = q
		if err := l.Receive(t.Context(), called("1", "a", "/slow 5")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // of the bubble
	})
	if heard := p.take("1"); len(heard) != 2 || heard[1].Text != "done after 5s" {
		t.Errorf("got %v, want what the run said at its end", heard)
	}
}

func TestLocalRefusesWhatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := worker.NewLocal(worker.LocalConfig{Retention: time.Second})
	for _, want := range []string{"Bot is missing", "Retention is 1s", "Senders is empty"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	l, err := worker.NewLocal(worker.LocalConfig{Bot: demo.Bot(), Senders: []provider.Sender{&phone{}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Receive(t.Context(), botmesh.Record{}); err == nil || errors.Is(err, botmesh.ErrRefused) {
		t.Errorf("a record without a chat: got %v, want that it is invalid", err)
	}
}

// album is a phone that keeps the files of its users.
type album struct{ phone }

func (*album) Open(_ context.Context, chat botmesh.ChatKey, m botmesh.Media) (*botmesh.File, error) {
	return &botmesh.File{ReadCloser: io.NopCloser(strings.NewReader(chat.Chat + m.Ref)), Size: -1}, nil
}

// A bot without servers reads files too, within its bound.
func TestLocalReadsFiles(t *testing.T) {
	t.Parallel()
	b := bot.New().Fallback(func(c *bot.Context) error {
		f, err := c.Open(botmesh.Media{Ref: c.Text()})
		if err != nil {
			return err
		}
		defer f.Close()
		text, err := io.ReadAll(f)
		if errors.Is(err, botmesh.ErrFileTooLarge) {
			text, err = []byte("too large"), nil
		}
		c.Say(string(text))
		return err
	})
	synctest.Test(t, func(t *testing.T) {
		p := &album{}
		l, err := worker.NewLocal(worker.LocalConfig{Bot: b, Senders: []provider.Sender{p}, MaxFile: 3})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.Run(ctx) }()
		if err := l.Receive(ctx, called("1", "1", "ab"), called("1", "2", "abc")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // of the bubble
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]botmesh.Send{{Text: "1ab"}, {Text: "too large"}}, p.take("1")); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
	})
}
