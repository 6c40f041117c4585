package check_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/e2e/lab/bot"
	"github.com/botmesh-go/botmesh/e2e/probe"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/ingressd"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/redistest"
	"github.com/botmesh-go/botmesh/internal/workerd"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/provider/telegram"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
	"github.com/botmesh-go/botmesh/streams"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token  = "12:secret"
	secret = "hook"
)

// lab is a bot's fleet on real servers, its replicas in this process, each behind a
// probe.
type lab struct {
	t        *testing.T
	dir      string
	settings config.Config
	conn     *jet.Conn
	log      *history.Log
	ingress  *ingressd.Ingress
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func startLab(t *testing.T, workers int) *lab {
	t.Helper()
	l := &lab{t: t, dir: t.TempDir()}
	var err error
	l.log, err = history.Open(filepath.Join(l.dir, "lab"+history.Suffix), "lab")
	l.must(err)
	t.Cleanup(func() { l.log.Close() })
	loaded, err := config.Load(config.Input{Environ: []string{
		"BOTMESH_TELEGRAM_TOKEN=" + token, "BOTMESH_TELEGRAM_SECRET=" + secret, "BOTMESH_LISTEN=127.0.0.1:0",
		"BOTMESH_TELEGRAM_ACCOUNT_RATE=off", "BOTMESH_TELEGRAM_CHAT_RATE=off",
		"BOTMESH_STREAMS=trust", "BOTMESH_NATS_URL=" + natstest.Start(t), "BOTMESH_REDIS_URL=" + redistest.Start(t).URL(),
	}})
	l.must(err)
	l.settings = loaded.Config
	l.conn, err = jet.Dial(t.Context(), jet.Config{URL: l.settings.NATS.URL.Reveal()})
	l.must(err)
	t.Cleanup(l.conn.Close)
	l.streams()
	l.replicas(workers)
	return l
}

// streams makes the bot's streams so that they forget nothing.
func (l *lab) streams() {
	all := engine.Streams(l.settings)
	for i := range all {
		all[i].MaxAge, all[i].MaxMsgsPerSubject, all[i].Replicas = 0, -1, 1
	}
	l.must(streams.Ensure(l.t.Context(), l.conn.JetStream(), streams.Create, all))
}

func (l *lab) replicas(workers int) {
	var err error
	l.ingress, err = ingressd.New(l.t.Context(), ingressd.Config{Settings: l.settings, Seam: l.probe("ingress", probe.Ingress).Stream})
	l.must(err)
	l.run(l.ingress.Run)
	natstest.Until(l.t, "the ingress is ready", func() bool { return l.ingress.Ready(l.t.Context()) == nil })
	for i := range workers {
		name := fmt.Sprintf("worker%d", i)
		api := httptest.NewServer(l.platform(name))
		l.t.Cleanup(api.Close)
		s := l.settings
		s.ReplicaID, s.Telegram.APIURL = name, config.NewURL(api.URL)
		b, err := bot.New(bot.Config{})
		l.must(err)
		w, err := workerd.New(l.t.Context(), workerd.Config{Settings: s, Runner: b, Seams: l.probe(name, probe.Worker).Seams()})
		l.must(err)
		l.run(w.Run)
		natstest.Until(l.t, name+" is ready", func() bool { return w.Ready(l.t.Context()) == nil })
	}
}

func (l *lab) probe(name string, program probe.Program) *probe.Probe {
	log, err := history.Open(filepath.Join(l.dir, name+history.Suffix), name)
	l.must(err)
	p, err := probe.New(probe.Config{Log: log, Program: program})
	l.must(err)
	return p
}

func (l *lab) run(run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.t.Context()))
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	l.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			l.t.Errorf("got %v, want no error", err)
		}
	})
}

// platform takes what one process calls it with.
func (l *lab) platform(process string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			Chat int64  `json:"chat_id"`
			Text string `json:"text"`
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		l.log.Note(history.Event{
			Kind: history.Platform, Chat: history.Telegram(m.Chat), By: process, Text: history.Digest(m.Text), Outcome: history.Accepted,
		})
		fmt.Fprint(w, `{"ok":true,"result":{"message_id":1}}`)
	})
}

// post posts an update once.
func (l *lab) post(id, chat int64, text string) error {
	call := l.log.Begin(history.Event{Kind: history.Webhook, Chat: history.Telegram(chat), ID: history.Update(id), Target: "ingress"})
	status, err := l.send(telegramtest.Text(id, chat, text))
	l.log.End(call, history.Event{Kind: history.Webhook, Status: status})
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d", status)
	}
	return err
}

func (l *lab) send(body []byte) (status int, err error) {
	req, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, "http://"+l.ingress.Addr()+"/webhooks/telegram", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set(telegram.SecretHeader, secret)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	resp.Body.Close()
	return resp.StatusCode, nil
}

// evidence waits until nothing is left to do and takes all there is.
func (l *lab) evidence() check.Evidence {
	l.t.Helper()
	e := check.Evidence{Bot: l.settings.Bot, Lease: l.settings.Lease, IdleWithin: 3 * time.Minute, Single: true}
	stream := func(name string) jet.Stream { return l.conn.Stream(name) }
	j, err := journal.Open(l.t.Context(), journal.Config{
		Bot: e.Bot, Inbox: stream(journal.InboxStream(e.Bot)), Dead: stream(journal.DeadStream(e.Bot)), AckWait: e.Lease,
	})
	l.must(err)
	inbox, err := l.conn.JetStream().Stream(l.t.Context(), journal.InboxStream(e.Bot))
	l.must(err)
	for deadline := time.After(3 * time.Minute); ; {
		var armed *jetstream.StreamInfo
		if armed, err = inbox.Info(l.t.Context(), jetstream.WithSubjectFilter(check.Timers(e.Bot)+">")); err == nil {
			e.Armed = uint64(len(armed.State.Subjects))
			e.Waiting, e.Unacked, err = j.Pending(l.t.Context())
		}
		if err == nil && e.Armed+e.Waiting+e.Unacked == 0 {
			break
		}
		select {
		case <-time.After(50 * time.Millisecond):
			continue
		case <-deadline: // the verdict tells what waits
		}
		break
	}
	e.Taken = time.Now()
	for name, into := range map[string]*[]jet.Stored{
		journal.InboxStream(e.Bot): &e.Inbox, journal.DeadStream(e.Bot): &e.Dead,
		outbox.StreamName(e.Bot): &e.Outbox, natsstore.Stream(e.Bot, 1).Name: &e.Checkpoints,
	} {
		gone, err := check.Dump(l.t.Context(), stream(name), func(m jet.Stored) error { *into = append(*into, m); return nil })
		l.must(err)
		if name == journal.InboxStream(e.Bot) {
			e.Gone = gone
		} else if len(gone) > 0 {
			l.t.Errorf("%s: got nothing at %d, want all that was stored", name, gone)
		}
	}
	e.Events, err = history.ReadDir(l.dir, history.All)
	l.must(err)
	return e
}

// What real programs on real servers do without a fault is accepted, and all of it
// was looked at; a lie in what the streams hold is caught.
//
// DESIGN I1 I2 I3 I4 I5 I6 I7 I8 I9 I10.
func TestARealRunIsAccepted(t *testing.T) {
	t.Parallel()
	l := startLab(t, 2)
	texts := []string{"one", "/count", "two", "/order", "pizza", "/slow 0.05", "/cancel", "/fail 1", "three", "/burst 5", "four", "five", "/remind 1s tea", "/later 1h milk", "/later 1s cake"}
	const chats = 5
	var wg sync.WaitGroup
	failed := make([]error, chats)
	for c := range chats {
		wg.Go(func() {
			for i, text := range texts {
				id := int64(100*c + i + 1)
				failed[c] = errors.Join(failed[c], l.post(id, int64(c+1), text))
				if i%4 == 0 {
					failed[c] = errors.Join(failed[c], l.post(id, int64(c+1), text))
				}
			}
		})
	}
	wg.Wait()
	l.must(errors.Join(failed...))
	e := l.evidence()
	e.Usage = []check.Usage{{Process: "this one", What: "goroutines", After: 1, Limit: 1}}
	e.Want = check.Want{Webhooks: chats * len(texts), Duplicates: 3 * chats, Timers: 2 * chats, Disarmed: chats}
	v := check.Judge(e)
	if err := v.Err(); err != nil {
		t.Fatalf("got %v, want no violation and everything proved", err)
	}
	got := v.Tally
	if got.Chats != chats || got.Webhooks != chats*len(texts) || got.Visible != got.Parts || got.Repeats != 0 || got.Revisions < got.Webhooks {
		t.Errorf("got %+v, want %d chats, %d webhooks, every part seen once, and a revision for each", got, chats, chats*len(texts))
	}
	for _, m := range e.Checkpoints {
		if m.Header.Get(jetstream.ExpectedLastSubjSeqHeader) == "" {
			t.Fatalf("revision %d does not say what it was to replace: I3 goes by that", m.Seq)
		}
	}

	last := &e.Checkpoints[len(e.Checkpoints)-1]
	last.Data = bytes.Replace(last.Data, []byte(`"cursor":`), []byte(`"cursor":9`), 1)
	if err := check.Judge(e).Err(); err == nil || !strings.Contains(err.Error(), "I2: ") {
		t.Errorf("with a cursor that is a lie: got %v, want I2 violated", err)
	}
}
