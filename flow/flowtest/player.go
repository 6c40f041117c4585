package flowtest

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/flow"
)

// Tries is how often a record is run before it is set aside.
const Tries = 5

// Player plays a chat. Each of its methods fails the test at once if the chat
// goes otherwise, and returns the player to go on.
type Player struct {
	t     testing.TB
	chat  *chat
	heard []botmesh.Send // said, and not looked at yet
	last  botmesh.Send   // the last one looked at

	repeated bool // each record is run twice
}

// Play begins a chat with b. At the test's end everything said must have been
// looked at.
func Play(t testing.TB, b Bot) *Player {
	t.Helper()
	p := &Player{t: t, chat: newChat(nil)}
	p.chat.now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p.HandOver(b)
	t.Cleanup(func() {
		t.Helper()
		if err := p.chat.stop(); err != nil {
			t.Error(err)
		}
		if !t.Failed() && len(p.heard) > 0 {
			t.Errorf("at the end: got %q, want it looked at", texts(p.heard))
		}
	})
	return p
}

// HandOver gives the chat to another replica, on which b runs: a bot that was made
// anew, so that nothing which handlers keep in memory comes along. It is told of a flow
// that waits with the next message, as by [bot.Bot.OnHandover].
func (p *Player) HandOver(b Bot) *Player {
	p.t.Helper()
	if v, ok := b.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			p.t.Fatalf("the bot is not valid:\n%v", err)
		}
	}
	if err := p.chat.stop(); err != nil {
		p.t.Fatal(err)
	}
	p.chat.bot, p.chat.lives = b, flow.NewLives(nil)
	p.chat.replica++
	return p
}

// Redeploy gives the chat to another build of the bot. One that can not go on from
// where a flow waits fails at the next answer.
func (p *Player) Redeploy(b Bot) *Player {
	p.t.Helper()
	return p.HandOver(b)
}

// Locale makes a language that of the user's messages from now on, as a platform tells
// it: a BCP 47 tag.
func (p *Player) Locale(tag string) *Player {
	p.chat.locale = tag
	return p
}

// User writes a text. The bot must answer without an error.
func (p *Player) User(text string) *Player {
	p.t.Helper()
	return p.Record(message(text))
}

// Late writes a text that the platform had for age before it came to the bot, as after an
// outage: see [flow.Turn.Stale].
func (p *Player) Late(age time.Duration, text string) *Player {
	p.t.Helper()
	r, m := p.next(message(text))
	r.SentAt = r.Stored.Add(-age)
	p.commit(r, 1, m)
	return p
}

// Tap presses a button of the last message that had some.
func (p *Player) Tap(label string) *Player {
	p.t.Helper()
	r, err := p.chat.tap(label)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.Record(r)
}

// Record hands the bot any record. Its place in the journal and its id are filled
// in, and so are chat and user where it has none.
func (p *Player) Record(r botmesh.Record) *Player {
	p.t.Helper()
	r, m := p.next(r)
	p.commit(r, 1, m)
	return p
}

// CrashOn writes a text and loses the first run of it just before its commit, as
// when a replica dies. The run that follows elsewhere finds what was sent with
// SendNow, and nothing else. More texts are written in quick succession, as by
// [Player.Quickly].
func (p *Player) CrashOn(text string, more ...string) *Player {
	p.t.Helper()
	r, m := p.next(message(text))
	m.coming = p.write(more)
	if _, err := p.chat.run(p.t.Context(), r, 1, m); err != nil {
		p.t.Fatalf("%q, before the crash: got error %v, want none", text, err)
	}
	return p.quickly(r, m)
}

// Quickly writes texts in such quick succession that all are there when the first is
// handled: they are one message under [flow.Burst], and one after the other without.
func (p *Player) Quickly(text string, more ...string) *Player {
	p.t.Helper()
	r, m := p.next(message(text))
	m.coming = p.write(more)
	return p.quickly(r, m)
}

// write makes texts the chat's next records.
func (p *Player) write(texts []string) []botmesh.Record {
	var all []botmesh.Record
	for _, text := range texts {
		all = append(all, p.chat.journal(message(text)))
	}
	return all
}

// quickly runs a record, and those that come right after it as far as its run did not deal
// with them.
func (p *Player) quickly(r botmesh.Record, m *midway) *Player {
	p.t.Helper()
	var heard []botmesh.Send
	for {
		coming := m.coming
		through := p.commit(r, 1, m)
		heard = append(heard, p.heard...)
		coming = slices.DeleteFunc(slices.Clone(coming), func(r botmesh.Record) bool { return r.Seq <= through })
		if len(coming) == 0 {
			p.heard = heard
			return p
		}
		r, m = coming[0], &midway{coming: coming[1:]}
	}
}

// Flaky writes a text whose first runs fail and the next one does not.
func (p *Player) Flaky(text string, failures int) *Player {
	p.t.Helper()
	r, m := p.next(message(text))
	p.fail(r, failures, m)
	p.commit(r, failures+1, m)
	return p
}

// Poison writes a text whose runs all fail, so that it is set aside and the chat
// goes on from where it was.
func (p *Player) Poison(text string) *Player {
	p.t.Helper()
	r, m := p.next(message(text))
	p.fail(r, Tries, m)
	p.heard = p.chat.commit(botmesh.Outcome{Ignored: true}, m)
	return p
}

// Advance lets time pass. Timers that become due fire, each as a record of its own;
// what they say is to be looked at next.
func (p *Player) Advance(d time.Duration) *Player {
	p.t.Helper()
	p.Silent()
	var heard []botmesh.Send
	p.chat.advance(d, func(r botmesh.Record) bool {
		p.commit(r, 1, &midway{})
		heard = append(heard, p.heard...)
		return true
	})
	p.heard = heard
	return p
}

// next makes r the chat's next record, when all before it was looked at.
func (p *Player) next(r botmesh.Record) (botmesh.Record, *midway) {
	p.t.Helper()
	p.Silent()
	return p.chat.journal(r), &midway{}
}

// fail runs the first tries of a record, which must fail.
func (p *Player) fail(r botmesh.Record, tries int, m *midway) {
	p.t.Helper()
	for try := range tries {
		if _, err := p.chat.run(p.t.Context(), r, try+1, m); err == nil {
			p.t.Fatalf("%q, try %d: got no error, want one", r.Message.Text, try+1)
		}
	}
}

// commit runs a record, which must not fail, and takes its outcome. It returns how far
// that goes.
func (p *Player) commit(r botmesh.Record, try int, m *midway) (through uint64) {
	p.t.Helper()
	o, err := p.chat.run(p.t.Context(), r, try, m)
	if err != nil {
		p.t.Fatalf("%s %q, try %d: got error %v, want none", r.Type, r.Message.Text, try, err)
	}
	if p.repeated {
		if err := p.chat.repeat(p.t.Context(), r, try, m, o); err != nil {
			p.t.Fatalf("%s %q, %v", r.Type, r.Message.Text, err)
		}
	}
	p.heard = p.chat.commit(o, m)
	if p.repeated {
		if err := p.chat.askAgain(p.t.Context(), r, p.heard); err != nil {
			p.t.Fatalf("%s %q, %v", r.Type, r.Message.Text, err)
		}
	}
	return o.Through
}

// Bot looks at the next messages of the bot: exactly these texts, in this order. One with
// a file begins with that, as in "(image https://example.org/menu.png) Our menu"; one of
// [flow.Turn.Stream] has the text that it is left with.
func (p *Player) Bot(want ...string) *Player {
	p.t.Helper()
	n := min(len(want), len(p.heard))
	if got := texts(p.heard[:n]); !slices.Equal(got, want) {
		p.t.Fatalf("the bot said: got %q, want %q", texts(p.heard), want)
	}
	if n > 0 {
		p.last = p.heard[n-1]
	}
	p.heard = p.heard[n:]
	return p
}

// Buttons looks at the buttons of the message that was looked at last: exactly
// these labels, in this order, whatever their rows.
func (p *Player) Buttons(want ...string) *Player {
	p.t.Helper()
	var got []string
	for _, b := range slices.Concat(p.last.Buttons...) {
		got = append(got, b.Label)
	}
	if !slices.Equal(got, want) {
		p.t.Fatalf("the buttons of %q: got %q, want %q", p.last.Text, got, want)
	}
	return p
}

// Told looks at what the bot sent in another chat since it was looked at last: exactly
// these texts, in this order.
func (p *Player) Told(chat botmesh.ChatKey, want ...string) *Player {
	p.t.Helper()
	var got []string
	p.chat.told = slices.DeleteFunc(p.chat.told, func(c botmesh.Command) bool {
		if c.Chat == chat {
			got = append(got, texts(c.Sends)...)
		}
		return c.Chat == chat
	})
	if !slices.Equal(got, want) {
		p.t.Fatalf("the bot said in %s: got %q, want %q", chat, got, want)
	}
	return p
}

// Silent says that everything the bot said was looked at.
func (p *Player) Silent() *Player {
	p.t.Helper()
	if len(p.heard) > 0 {
		p.t.Fatalf("the bot said: got %q, want nothing more", texts(p.heard))
	}
	return p
}

// State decodes the state of the flow whose question is open into a pointer to its
// struct. In a script step it is the state that the step began with.
func (p *Player) State(into any) *Player {
	p.t.Helper()
	at := p.position()
	if at == nil {
		p.t.Fatal("the state of the flow: got no flow that waits, want one")
	}
	open := at.Open()
	d := json.NewDecoder(bytes.NewReader(open.State))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		p.t.Fatalf("the state of flow %s: %v", open.Flow, err)
	}
	return p
}

// Idle says that no flow waits for an answer.
func (p *Player) Idle() *Player {
	p.t.Helper()
	if at := p.position(); at != nil {
		p.t.Fatalf("got flow %s waiting at %q, want no flow", at.Flow, at.Step)
	}
	return p
}

func (p *Player) position() *flow.Position {
	p.t.Helper()
	c, err := flow.DecodeChat(p.chat.state)
	if err != nil {
		p.t.Fatal(err)
	}
	return c.Position
}

func texts(sends []botmesh.Send) []string {
	var all []string
	for _, s := range sends {
		all = append(all, s.Shown())
	}
	return all
}

// Hear looks at everything that the bot said, whatever it is.
func (p *Player) Hear() *Player {
	if n := len(p.heard); n > 0 {
		p.last = p.heard[n-1]
	}
	p.heard = nil
	return p
}
