package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh"
)

// order is what a record asks of the bot. It is the text of the message.
type order struct {
	Sends int           `json:"sends,omitempty"` // each run adds its number to it, modulo three
	Eager int           `json:"eager,omitempty"` // so many, and more or fewer in other runs
	Keep  bool          `json:"keep,omitempty"`
	Fail  int           `json:"fail,omitempty"` // so many tries fail
	End   bool          `json:"end,omitempty"`  // the conversation ends with it
	Kill  bool          `json:"kill,omitempty"` // it ends its process
	Arm   time.Duration `json:"arm,omitempty"`  // a timer is to fire then, in place of the one before
	Halt  bool          `json:"halt,omitempty"` // no timer is to fire
	Tell  int           `json:"tell,omitempty"` // something is to be sent in that chat, counted from one
	Slow  time.Duration `json:"slow,omitempty"`
}

// memory is the state of a conversation: a chain, in which each record that took
// effect names the run that did it and the one before.
type memory struct {
	N    int    `json:"n"`
	ID   string `json:"id"`
	Run  string `json:"run"`
	Prev string `json:"prev,omitempty"`
	Kept string `json:"kept,omitempty"`
}

// chatbot is the bot in one process. It does something else in each run of a record:
// no two have a text in common.
type chatbot struct {
	s    *sim
	p    *process
	mu   sync.Mutex
	runs map[string]int // by record
}

// begin names a run and numbers those of its record in this process.
func (b *chatbot) begin(id string) (run string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runs[id]++
	n = b.runs[id]
	return fmt.Sprint(id, "#", b.p.name, ".", n), n
}

var errFails = errors.New("sim: the bot fails")

// Run implements [dispatcher.Runner].
func (b *chatbot) Run(ctx context.Context, r botmesh.Run, m botmesh.Midway) (botmesh.Outcome, error) {
	if b.p.isDead() {
		<-b.s.end
		return botmesh.Outcome{}, errFails
	}
	if r.Record.Type == botmesh.TypeEvent {
		return botmesh.Outcome{Ignored: true}, nil
	}
	if r.Record.Type == botmesh.TypeCommand {
		return botmesh.Outcome{State: r.State, Sends: r.Record.Sends}, nil
	}
	o := order{Sends: 1} // of a timer
	if r.Record.Type != botmesh.TypeTimer {
		if err := json.Unmarshal([]byte(r.Record.Message.Text), &o); err != nil {
			return botmesh.Outcome{}, err
		}
	}
	run, n := b.begin(r.Record.ID)
	b.s.judge.runs(b.p, r.Record.ID, b.s.judge.chats[r.Record.Chat.Key()])
	defer b.s.judge.ran(b.p, r.Record.ID)
	if err := b.rest(ctx, o.Slow/2); err != nil {
		return botmesh.Outcome{}, err
	}
	kept := string(r.Kept)
	if o.Keep && kept == "" {
		kept = run
		if err := m.Keep(ctx, []byte(kept)); err != nil {
			return botmesh.Outcome{}, err
		}
	}
	for i := range (o.Eager + n - 1) % 3 {
		if o.Eager == 0 {
			break
		}
		if err := m.SendNow(ctx, botmesh.Send{Text: fmt.Sprint(run, " e", i), Grows: i == 0}); err != nil {
			return botmesh.Outcome{}, err
		}
	}
	if err := b.rest(ctx, o.Slow/2); err != nil {
		return botmesh.Outcome{}, err
	}
	if o.Kill {
		_, _ = ask(context.Background(), b.p, plain, "die", func() (any, error) {
			b.s.mu.Lock()
			defer b.s.mu.Unlock()
			b.s.stats["died of a record"]++
			b.s.kill(b.p)
			return nil, nil
		})
		<-b.s.end
	}
	if r.Try <= o.Fail {
		return botmesh.Outcome{}, errFails
	}
	return outcome(r, o, n, run, kept)
}

func outcome(r botmesh.Run, o order, n int, run, kept string) (botmesh.Outcome, error) {
	var was memory
	if r.State != nil {
		if err := json.Unmarshal(r.State, &was); err != nil {
			return botmesh.Outcome{}, err
		}
	}
	now := memory{N: was.N + 1, ID: r.Record.ID, Run: run, Prev: was.Run, Kept: kept}
	state, err := json.Marshal(now)
	if err != nil {
		return botmesh.Outcome{}, err
	}
	var sends []botmesh.Send
	for i := range (o.Sends + n) % 3 {
		sends = append(sends, botmesh.Send{Text: fmt.Sprint(run, " ", i, strings.Repeat("|", (i+n)%2))})
	}
	if len(sends) > 1 {
		sends[1].Media = file(run + " file")
	}
	if o.End {
		state = nil
		if len(sends) == 0 {
			sends = []botmesh.Send{{Text: run + " bye"}}
		}
	}
	if o.Eager > 0 && len(sends) > 0 {
		sends[0].Replaces = 1 // if an earlier run sent it, or this one
	}
	is := botmesh.Outcome{State: state, Sends: sends}
	if o.Arm > 0 {
		is.Arm = []botmesh.Timer{{Name: alarm, At: r.Now.Add(o.Arm)}}
	}
	if o.Halt {
		is.Disarm = []string{alarm}
	}
	if o.Tell > 0 {
		is.Commands = []botmesh.Command{{Chat: chatKey(o.Tell - 1), Sends: []botmesh.Send{{Text: run + " tells"}}}}
	}
	return is, nil
}

// file is a file that is sent, under a name.
func file(name string) *botmesh.Media {
	return &botmesh.Media{Kind: botmesh.MediaImage, URL: "https://example.org/", Name: name}
}

// shown is what a send says, also where its file is a link.
func shown(s botmesh.Send) string {
	if s.Media == nil {
		return s.Text
	}
	return s.Text + "\n" + s.Media.Name + ": " + s.Media.URL
}

// alarm is the name of the one timer that a chat may have.
const alarm = "alarm"

// rest takes its time.
func (b *chatbot) rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
