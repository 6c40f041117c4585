// Package fakeplatform is what all pretended platforms have in common: a log of
// what they took, faults on order and a rate limit.
//
// What belongs here: what becomes of a call that has the right form. The form, and
// the words in which a platform says no, are each platform's own.
package fakeplatform

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Message is a message that the platform took.
type Message struct {
	ID string
	// Chat is the address as a chat key has it.
	Chat    string
	Text    string // or caption
	Media   Media
	Buttons []Button
	// Look is all else that is to be seen of it, in the platform's own words: its styles,
	// and which buttons are beside each other. Of another look is another message.
	Look string
	// Part is the part's id, if the platform is told it.
	Part string
	At   time.Time
	// Call numbers the calls of the server from 1, those that were refused included.
	Call int64
	// Was are the texts that it had before each time it was changed, in order.
	Was []string
}

// Button is a button below a message.
type Button struct{ Label, Payload string }

// Media is a file of a message, given by an address or the platform's own reference.
type Media struct{ Kind, URL, Ref, Name string }

// Fault is what one call meets instead of success.
type Fault struct {
	// Status, Header and Body are the answer; a zero Status is success.
	Status int
	Header http.Header
	Body   string
	// Take says that the message is taken all the same before the answer.
	Take bool
	// Hang says that no answer comes before the caller goes away.
	Hang bool
	// Delay is waited before the message is taken or the call answered.
	Delay time.Duration
}

// Answer writes f's answer.
func (f Fault) Answer(w http.ResponseWriter) {
	maps.Copy(w.Header(), f.Header)
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(f.Status)
	w.Write([]byte(f.Body))
}

// Platform takes messages. Safe for concurrent use.
type Platform struct {
	limited Fault

	mu      sync.Mutex
	calls   int64
	log     []Message
	chats   map[string][]int // places in log
	faults  map[string][]Fault
	script  func(chat, text string) Fault
	onTake  func(Message)
	every   time.Duration
	burst   int
	limits  map[string]*rate.Limiter
	account *rate.Limiter
	changed chan struct{} // closed and replaced when a message is taken
}

// New makes a platform that answers a call over its rate limit with limited.
func New(limited Fault) *Platform {
	return &Platform{
		limited: limited, chats: map[string][]int{}, faults: map[string][]Fault{}, limits: map[string]*rate.Limiter{},
		changed: make(chan struct{}),
	}
}

// Next has the next calls to a chat meet these faults, one each, after those
// ordered before. An empty chat stands for every chat that has none of its own.
func (p *Platform) Next(chat string, faults ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults[chat] = append(p.faults[chat], faults...)
}

// Script has f decide about each call that meets no fault of [Platform.Next]. It
// is called for one call at a time and must not call the platform; nil ends it.
func (p *Platform) Script(f func(chat, text string) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script = f
}

// OnTake has f told each message as it is taken, one at a time and in order. It
// must not call the platform; nil ends it.
func (p *Platform) OnTake(f func(Message)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onTake = f
}

// Limit refuses the calls to a chat that are over burst at once and one in every
// from then on. There is no limit before it is called.
func (p *Platform) Limit(every time.Duration, burst int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.every, p.burst = every, burst
	clear(p.limits)
}

// LimitAccount refuses the calls, of all chats together, that are over burst at once and
// one in every from then on; those that are refused do not count. So it refuses none if and
// only if no window of time sees more than burst and what comes to it in that time. There is
// no limit before it is called, nor with a burst of zero.
func (p *Platform) LimitAccount(every time.Duration, burst int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.account = nil; burst > 0 {
		p.account = rate.NewLimiter(rate.Every(every), burst)
	}
}

// Chat returns the messages that a chat was sent, in order.
func (p *Platform) Chat(chat string) []Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	var got []Message
	for _, i := range p.chats[chat] {
		got = append(got, p.log[i])
	}
	return got
}

// Texts returns the texts that a chat was sent, in order.
func (p *Platform) Texts(chat string) []string {
	var texts []string
	for _, m := range p.Chat(chat) {
		texts = append(texts, m.Text)
	}
	return texts
}

// All returns every message that was taken, in order.
func (p *Platform) All() []Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log)
}

// Calls counts the calls of the right form, those that were refused included.
func (p *Platform) Calls() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// Wait waits until a chat has n messages, and returns what it has. The error is
// the context's.
func (p *Platform) Wait(ctx context.Context, chat string, n int) ([]Message, error) {
	for {
		p.mu.Lock()
		changed, have := p.changed, len(p.chats[chat])
		p.mu.Unlock()
		if have >= n {
			return p.Chat(chat), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return p.Chat(chat), ctx.Err()
		}
	}
}

// Call is one call of the right form.
type Call struct {
	// Message has no ID, At and Call yet.
	Message Message
	// Refusal is what the platform has against the message, zero for nothing.
	Refusal Fault
	// ID makes the id of the n-th message, counted from 1.
	ID func(n int) string
	// Changes, if not nil, finds the message that is to say what Message does, instead of
	// a new one. Unknown is the refusal if there is none, Same that if it says so already.
	Changes       func(Message) bool
	Unknown, Same Fault
	// Answer says that the message was taken.
	Answer func(w http.ResponseWriter, m Message)
}

// Serve answers a call: with the fault that is ordered for it, else with its
// refusal, else, over the rate limit, with that, else by taking it.
func (p *Platform) Serve(w http.ResponseWriter, r *http.Request, c Call) {
	f, limited := p.meet(&c.Message)
	if f.Delay > 0 && !wait(r.Context(), f.Delay) {
		return
	}
	if f.Status == 0 && !f.Hang {
		switch {
		case c.Refusal.Status != 0:
			f = c.Refusal
		case limited:
			f = p.limited
		}
	}
	m := c.Message
	if f.Take || f.Status == 0 && !f.Hang {
		var refusal Fault
		if m, refusal = p.take(c); f.Status == 0 {
			f.Status, f.Header, f.Body = refusal.Status, refusal.Header, refusal.Body
		}
	}
	switch {
	case f.Hang:
		<-r.Context().Done()
	case f.Status != 0:
		f.Answer(w)
	default:
		c.Answer(w, m)
	}
}

// meet numbers the call, takes the fault that it meets and counts it for the limit.
func (p *Platform) meet(m *Message) (f Fault, limited bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	m.Call, m.At = p.calls, time.Now()
	if p.burst > 0 {
		l := p.limits[m.Chat]
		if l == nil {
			l = rate.NewLimiter(rate.Every(p.every), p.burst)
			p.limits[m.Chat] = l
		}
		limited = !l.AllowN(m.At, 1)
	}
	if p.account != nil && !limited {
		limited = !p.account.AllowN(m.At, 1)
	}
	for _, name := range []string{m.Chat, ""} {
		if q := p.faults[name]; len(q) > 0 {
			p.faults[name] = q[1:]
			return q[0], limited
		}
	}
	if p.script != nil {
		return p.script(m.Chat, m.Text), limited
	}
	return Fault{}, limited
}

// take notes what a call says, or returns what there is against the change of a message.
func (p *Platform) take(c Call) (Message, Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := c.Message
	if c.Changes == nil {
		m.ID = c.ID(len(p.log) + 1)
		p.chats[m.Chat] = append(p.chats[m.Chat], len(p.log))
		p.log = append(p.log, m)
	} else {
		i := slices.IndexFunc(p.log, c.Changes)
		if i < 0 {
			return m, c.Unknown
		}
		was := p.log[i]
		if c.Same.Status != 0 && was.Text == m.Text && slices.Equal(was.Buttons, m.Buttons) && was.Look == m.Look {
			return was, c.Same
		}
		was.Was, was.Text, was.Buttons, was.Look = append(slices.Clone(was.Was), was.Text), m.Text, m.Buttons, m.Look
		was.Part, was.Call = m.Part, m.Call
		p.log[i], m = was, was
	}
	if p.onTake != nil {
		p.onTake(m)
	}
	close(p.changed)
	p.changed = make(chan struct{})
	return m, Fault{}
}

func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
