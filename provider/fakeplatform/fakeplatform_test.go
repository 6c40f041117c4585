package fakeplatform

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call is a call for a chat, which the platform answers with 200.
func call(ctx context.Context, p *Platform, chat, text string, refusal Fault) int {
	w := httptest.NewRecorder()
	p.Serve(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil), Call{
		Message: Message{Chat: chat, Text: text},
		Refusal: refusal,
		ID:      strconv.Itoa,
		Answer:  func(w http.ResponseWriter, m Message) { w.Write([]byte(m.ID)) },
	})
	return w.Code
}

func TestFaults(t *testing.T) {
	t.Parallel()
	p := New(Fault{Status: 429})
	var seen []string
	p.OnTake(func(m Message) { seen = append(seen, m.Text) })
	p.Next("5", Fault{Status: 503}, Fault{Status: 502, Take: true})
	p.Next("", Fault{Status: 500})
	p.Script(func(chat, text string) Fault {
		if chat == "6" && text == "b" {
			return Fault{Status: 403}
		}
		return Fault{}
	})
	for i, c := range []struct {
		chat, text  string
		refusal     Fault
		want, taken int
	}{
		{"5", "a", Fault{}, 503, 0},
		{"5", "a", Fault{}, 502, 1},
		{"5", "a", Fault{}, 500, 1},
		{"5", "a", Fault{Status: 400}, 400, 1},
		{"5", "a", Fault{}, 200, 2},
		{"6", "b", Fault{Status: 400}, 403, 2},
		{"6", "c", Fault{}, 200, 3},
	} {
		if got := call(t.Context(), p, c.chat, c.text, c.refusal); got != c.want || len(p.All()) != c.taken {
			t.Errorf("call %d: got %d with %d taken, want %d with %d", i, got, len(p.All()), c.want, c.taken)
		}
	}
	if m := p.All()[2]; p.Calls() != 7 || m.Call != 7 || m.ID != "3" || m.At.IsZero() || len(seen) != 3 {
		t.Errorf("got %+v after %d calls, %d told, want the third message of call 7", m, p.Calls(), len(seen))
	}
	if got := p.Texts("5"); len(got) != 2 {
		t.Errorf("got %q in the chat, want two texts", got)
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	p := New(Fault{Status: 429})
	p.Limit(time.Hour, 2)
	for n, want := range []int{200, 200, 429} {
		if got := call(t.Context(), p, "5", "a", Fault{}); got != want {
			t.Errorf("call %d: got %d, want %d", n, got, want)
		}
	}
	if got := call(t.Context(), p, "6", "a", Fault{}); got != 200 {
		t.Errorf("another chat: got %d, want 200", got)
	}
}

func TestLimitOfTheAccount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(Fault{Status: 429})
		p.LimitAccount(time.Second, 2)
		for n, x := range []struct {
			after time.Duration
			chat  string
			want  int
		}{
			{0, "5", 200}, {0, "6", 200}, {999 * time.Millisecond, "7", 429}, {time.Millisecond, "7", 200}, {0, "5", 429},
			{time.Hour, "5", 200}, {0, "5", 200}, {0, "6", 429},
		} {
			<-time.After(x.after)
			if got := call(t.Context(), p, x.chat, "a", Fault{}); got != x.want {
				t.Errorf("call %d: got %d, want %d", n, got, x.want)
			}
		}
		p.LimitAccount(0, 0)
		if got := call(t.Context(), p, "6", "a", Fault{}); got != 200 {
			t.Errorf("without a limit: got %d, want 200", got)
		}
	})
}

// A call that hangs may have been taken or not, and ends with its caller.
func TestHang(t *testing.T) {
	t.Parallel()
	for _, take := range []bool{true, false} {
		p := New(Fault{})
		p.Next("5", Fault{Take: take, Hang: true}, Fault{Delay: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			call(ctx, p, "5", "a", Fault{})
			call(ctx, p, "5", "b", Fault{})
			close(done)
		}()
		if take {
			if got, err := p.Wait(t.Context(), "5", 1); err != nil || len(got) != 1 {
				t.Errorf("got %v, %v, want the message taken", got, err)
			}
		}
		cancel()
		<-done
		if n := len(p.All()); (n == 1) != take || n > 1 {
			t.Errorf("got %d messages, want it taken %v and what was delayed never", n, take)
		}
		if _, err := p.Wait(ctx, "5", 9); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
	}
}

// A message that is to be changed is there and says something else, or that is refused.
func TestChanges(t *testing.T) {
	t.Parallel()
	p := New(Fault{})
	edit := func(id, text, look string) int {
		w := httptest.NewRecorder()
		p.Serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil), Call{
			Message: Message{Chat: "5", Text: text, Look: look},
			Changes: func(m Message) bool { return m.ID == id },
			Unknown: Fault{Status: 404}, Same: Fault{Status: 409},
			Answer: func(w http.ResponseWriter, m Message) { w.Write([]byte(m.ID)) },
		})
		return w.Code
	}
	call(t.Context(), p, "6", "z", Fault{})
	call(t.Context(), p, "5", "a", Fault{})
	for n, c := range []struct {
		id, text, look string
		want           int
	}{{"3", "b", "", 404}, {"2", "a", "", 409}, {"2", "b", "", 200}, {"2", "b", "bold", 200}, {"2", "b", "bold", 409}} {
		if got := edit(c.id, c.text, c.look); got != c.want {
			t.Errorf("edit %d: got %d, want %d", n, got, c.want)
		}
	}
	if got := p.Chat("5"); len(got) != 1 || got[0].Text != "b" || got[0].Look != "bold" || len(got[0].Was) != 2 || len(p.Texts("6")) != 1 {
		t.Errorf("got %+v, want one message changed twice", p.All())
	}
}
