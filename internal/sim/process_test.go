package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/dispatcher"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
	"github.com/botmesh-go/botmesh/provider"
)

// process is one incarnation of a replica, or the ingress.
type process struct {
	s      *sim
	name   string
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
	calls  map[string]int // by name, how many it made

	inner  *coord.MemoryCoordinator
	turns  map[string]*turn // that it holds
	served *dispatcher.Dispatcher

	dead    bool
	leaving bool
	left    bool // in order
	froze   time.Time
	thaws   time.Time      // zero once the world is healed
	thawed  time.Time      // when the last freeze ended or is to end
	silent  bool           // it has been frozen for a lease
	runs    map[string]run // of the bot, by record

	// harmed counts what befell it that can leave a part in doubt: all of its
	// chats, or one.
	harmed map[string]int
}

func (s *sim) newProcess(name string) *process {
	p := &process{s: s, name: name, done: make(chan struct{}), calls: map[string]int{}, turns: map[string]*turn{}, runs: map[string]run{}, harmed: map[string]int{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

func (p *process) frozen(now time.Time) bool { return now.Before(p.thaws) }

func (p *process) isDead() bool {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.dead
}

// ended reports whether nothing of the process runs any more.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// harm notes that something befell a call; the empty key is all.
func (p *process) harm(key string) {
	what := ""
	switch words := strings.Fields(key); {
	case key == "":
	case strings.Contains(key, " call ") || strings.Contains(key, " rcpt "):
		what = words[len(words)-2]
	default:
		return
	}
	p.harmed[what]++
}

// harms is what befell the process so far, as far as a chat is concerned.
func (p *process) harms(chat string) int { return p.harmed[""] + p.harmed[chat] }

// holds are the keys of the turns that the process has.
func (p *process) holds() []string { return slices.Sorted(maps.Keys(p.turns)) }

// spawn starts a replica.
func (s *sim) spawn() {
	s.born++
	p := s.newProcess("r" + strconv.Itoa(s.born))
	s.note("start %s", p.name)
	var err error
	odd := time.Duration(s.born) // no two look at the hub in the same moment
	p.inner, err = coord.NewMemory(s.hub, coord.Config{Replica: p.name, Lease: lease + 3*odd, TurnWait: time.Minute + odd})
	if err != nil {
		s.t.Fatal(err)
	}
	s.all = append(s.all, p)
	go p.work()
}

// work serves chats until the process is told to stop, as the worker's program does.
func (p *process) work() {
	defer close(p.done)
	d, err := p.open()
	if err == nil {
		p.s.mu.Lock()
		p.served = d
		p.s.mu.Unlock()
		err = d.Run(p.ctx)
	}
	if err != nil && p.ctx.Err() == nil && !errors.Is(err, journal.ErrEpochChanged) {
		p.s.judge.fail("", "", "%s ended: %v", p.name, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, _ = ask(ctx, p, plain, "leave", func() (any, error) {
		p.left = true
		p.s.judge.died(p) // who finds the claim of a lone run that was cut off finds nobody alive
		return nil, p.inner.Close(ctx)
	})
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if !p.leaving && !p.dead && !p.s.over { // the journal was made anew
		p.leaving = true
		p.s.cradle = append(p.s.cradle, time.Now().Add(time.Second))
	}
}

// open opens the rooms as soon as they can be read.
func (p *process) open() (d *dispatcher.Dispatcher, err error) {
	for p.ctx.Err() == nil {
		if d, err = p.wire(); err == nil {
			return d, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, context.Cause(p.ctx)
}

func (p *process) wire() (*dispatcher.Dispatcher, error) {
	j, err := journal.Open(p.ctx, journal.Config{Bot: bot, Inbox: line{p, inbox}, Dead: line{p, dead}, AckWait: lease})
	if err != nil {
		return nil, err
	}
	w := p.s.weather
	o, err := outbox.Open(p.ctx, outbox.Config{
		Stream: line{p, out}, Bot: bot, Incarnation: p.name,
		Senders: []provider.Sender{platform{p, resends}, platform{p, holds}, knowing{platform{p, knows}}, changing{platform{p, edits}}},
		InDoubt: p.s.inDoubt(),
		Dead: func(ctx context.Context, d outbox.DeadSend) error {
			_, err := j.SetAsidePart(ctx, journal.DeadPart{Chat: d.Chat, Part: d.Part.ID, Send: d.Part.Send, Tries: d.Tries, Error: d.Error, Held: d.Held})
			return err
		},
		Hold: lease, RetryFirst: 500 * time.Millisecond, RetryMax: 4 * time.Second, GiveUp: min(24*time.Hour, w.retention/4),
	})
	if err != nil {
		return nil, err
	}
	return dispatcher.New(dispatcher.Config{
		Journal: j, Coordinator: turns{p}, Store: natsstore.New(line{p, cp}, bot), Outbox: o, Runner: &chatbot{s: p.s, p: p, runs: map[string]int{}},
		Lease: lease, Settle: settle, Drain: 8 * time.Second, Tries: tries, Backoff: retry, Concurrency: 8,
		Retention: w.retention,
	})
}

// line is a process's way to a stream.
type line struct {
	p    *process
	kind string
}

var _ jet.Stream = line{}

func (l line) Name() string { return streamName(l.kind) }

// tail is the chat of a subject, and what else it names.
func tail(subject string) string {
	subject = strings.TrimPrefix(subject, "$KV."+natsstore.Bucket(bot)+".")
	subject = strings.TrimPrefix(subject, "bot.")
	subject = strings.Replace(subject, "."+bot+".", " ", 1)
	return subject
}

func (l line) Publish(ctx context.Context, m jet.Publish) (jet.Ack, error) {
	c := writing
	if m.Expect != nil {
		c = swapping
	}
	s, landed := l.p.s, uint64(0)
	ack, err := ask(ctx, l.p, c, "write "+l.kind+" "+tail(m.Subject), func() (jet.Ack, error) {
		ack, err := s.stream(l.kind).Publish(context.Background(), m)
		if err == nil && !ack.Duplicate {
			landed = ack.Seq
			s.judge.stored(l.p, l.kind, m, ack.Seq)
		} else if err != nil {
			s.stats["conflict "+l.kind]++
		}
		return ack, err
	})
	if errors.Is(err, botmesh.ErrUnknown) {
		s.judge.unanswered(l.p, m, landed)
	}
	return ack, err
}

func (l line) Last(ctx context.Context, subject string) (jet.Stored, error) {
	return ask(ctx, l.p, reading, "last "+l.kind+" "+tail(subject), func() (jet.Stored, error) {
		return l.p.s.stream(l.kind).Last(context.Background(), subject)
	})
}

func (l line) Get(ctx context.Context, seq uint64) (jet.Stored, error) {
	return ask(ctx, l.p, reading, fmt.Sprint("get ", l.kind, " ", seq), func() (jet.Stored, error) {
		return l.p.s.stream(l.kind).Get(context.Background(), seq)
	})
}

func (l line) Next(ctx context.Context, subject string, from uint64) (jet.Stored, error) {
	return ask(ctx, l.p, reading, fmt.Sprint("next ", l.kind, " ", tail(subject), " ", from), func() (jet.Stored, error) {
		return l.p.s.stream(l.kind).Next(context.Background(), subject, from)
	})
}

// Purge implements [jet.Stream]: a schedule is cancelled so.
func (l line) Purge(ctx context.Context, subject string) error {
	_, err := ask(ctx, l.p, writing, "purge "+l.kind+" "+tail(subject), func() (any, error) {
		return nil, l.p.s.stream(l.kind).Purge(context.Background(), subject)
	})
	return err
}

// Range is answered by any replica of the journal, one that lags included.
func (l line) Range(ctx context.Context, subject string, from uint64, limit int) ([]jet.Stored, error) {
	return ask(ctx, l.p, reading, fmt.Sprint("range ", l.kind, " ", tail(subject), " ", from), func() ([]jet.Stored, error) {
		s := l.p.s
		of, err := s.stream(l.kind).Range(context.Background(), subject, from, limit)
		if err == nil && l.kind == inbox && s.chance(s.weather.lag) {
			s.stats["lag"]++
			of = of[:s.rng.IntN(len(of)+1)]
		}
		return of, err
	})
}

func (l line) Info(ctx context.Context) (jet.Info, error) {
	return ask(ctx, l.p, reading, "info "+l.kind, func() (jet.Info, error) {
		return l.p.s.stream(l.kind).Info(context.Background())
	})
}
