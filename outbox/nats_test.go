package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/provider"
)

// dial connects to the server at url, where the bot's stream is made if absent.
func dial(t testing.TB, url string) *jet.Conn {
	t.Helper()
	conn, err := jet.Dial(t.Context(), jet.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	cfg := Streams(Sizing{Bot: "b"})[0]
	cfg.Metadata[epochKey] = "e1"
	if _, err := conn.JetStream().CreateOrUpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	return conn
}

// account is a platform that notes what it took, chat by chat.
type account struct {
	mu    sync.Mutex
	taken map[botmesh.ChatKey][]string
}

func (*account) ID() string                          { return "test" }
func (*account) Split(s botmesh.Send) []botmesh.Send { return []botmesh.Send{s} }
func (a *account) Call(_ context.Context, c provider.Call) (provider.Sent, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.taken == nil {
		a.taken = map[botmesh.ChatKey][]string{}
	}
	a.taken[c.Chat] = append(a.taken[c.Chat], c.Send.Text)
	return provider.Sent{}, nil
}

// SPEC O2 O3 O4, DESIGN C3 D1: two replicas on a real server hand chats to and fro; each
// loses its connection's answers now and then.
func TestOnAServer(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t)
	to := &account{}
	var nodes []*Outbox
	for _, name := range []string{"a", "b"} {
		rng, mu := rand.New(rand.NewPCG(7, uint64(len(name)))), sync.Mutex{}
		l := &line{Stream: dial(t, url).Stream(StreamName("b")), dead: new(atomic.Bool)}
		l.rule = func(o op) fate {
			mu.Lock()
			defer mu.Unlock()
			if n := rng.IntN(40); n < 3 && o.name == "publish" {
				return []fate{refuse, lose, drop}[n]
			}
			return pass
		}
		o, err := Open(t.Context(), Config{Stream: l, Bot: "b", Incarnation: name, Senders: []provider.Sender{to}, Hold: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, o)
	}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() { talk(t, nodes, botmesh.ChatKey{Provider: "test", Chat: strconv.Itoa(i)}, 12) })
	}
	group.Wait()
	for chat, taken := range to.taken {
		want := make([]string, 12)
		for i := range want {
			want[i] = strconv.Itoa(i)
		}
		if !slices.Equal(taken, want) {
			t.Errorf("chat %s: got %v, want %v", chat, taken, want)
		}
	}
	if len(to.taken) != 8 {
		t.Errorf("chats: got %d, want 8", len(to.taken))
	}
}

// talk has n letters of a chat committed and delivered, one turn each, by one node
// after the other.
func talk(t *testing.T, nodes []*Outbox, chat botmesh.ChatKey, n int) {
	ctx, out := t.Context(), uint64(0)
	for i := range n {
		o := nodes[i/2%len(nodes)]
		l, err := o.Letter(botmesh.LetterID(chat, "j", uint64(i)), chat, []botmesh.Send{{Text: strconv.Itoa(i)}}, time.Now(), nil)
		if err != nil {
			t.Error(err)
			return
		}
		if out, err = flush(ctx, o, l, out); err != nil {
			t.Error(err)
			return
		}
		d := o.Deliver(ctx, chat)
		d.Put(out, l)
		if s, err := d.Wait(ctx, out); err != nil || s.Settled != out {
			t.Errorf("letter %d of %s: got %+v, error %v, want it settled", i, chat, s, err)
		}
		if _, err := d.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}

// flush appends l after out as the dispatcher does it.
func flush(ctx context.Context, o *Outbox, l botmesh.Letter, out uint64) (uint64, error) {
	for {
		seq, err := o.Append(ctx, l, out)
		if err == nil {
			return seq, nil
		}
		if !errors.Is(err, botmesh.ErrConflict) && !errors.Is(err, botmesh.ErrUnknown) && !errors.Is(err, botmesh.ErrRefused) {
			return 0, err
		}
		tail, err := o.Last(ctx, l.Chat)
		switch {
		case err != nil:
			return 0, err
		case tail.ID == l.ID:
			return tail.Seq, nil
		case tail.Seq != out:
			return 0, fmt.Errorf("letter %s: the tail is %+v, want it at %d", l.ID, tail, out)
		}
	}
}

// A reader on another connection is told of new letters at once.
func TestFollowOnAServer(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t)
	writer, err := Open(t.Context(), Config{Stream: dial(t, url).Stream(StreamName("b")), Bot: "b", Incarnation: "w", Senders: []provider.Sender{&account{}}})
	if err != nil {
		t.Fatal(err)
	}
	conn := dial(t, url)
	reader, err := Open(t.Context(), Config{Stream: conn.Stream(StreamName("b")), Bot: "b", Listen: func(subject string, wake func()) (func(), error) {
		sub, err := conn.NATS().Subscribe(subject, func(*nats.Msg) { wake() })
		if err != nil {
			return nil, err
		}
		return func() { _ = sub.Unsubscribe() }, conn.NATS().Flush()
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	got, done := make(chan uint64), make(chan error)
	go func() {
		done <- reader.Follow(ctx, chatA, 0, func(seq uint64, _ botmesh.Letter) error { got <- seq; return nil })
	}()
	out := uint64(0)
	for i := range 20 {
		l, _ := writer.Letter(botmesh.LetterID(chatA, "j", uint64(i)), chatA, []botmesh.Send{{Text: "x"}}, time.Now(), nil)
		if out, err = writer.Append(t.Context(), l, out); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if seq := <-got; seq != out {
			t.Fatalf("letter %d: got sequence %d, want %d", i, seq, out)
		}
		if late := time.Since(began); late > 10*time.Second {
			t.Errorf("letter %d: got it after %v, which is a poll", i, late)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("end: got %v, want %v", err, context.Canceled)
	}
}
