package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh/e2e/fleet"
	"github.com/botmesh-go/botmesh/e2e/platform"
)

// documented is a command that the pages have.
type documented struct {
	command string // as a page has it, without its comment
	more    string // what the text around an inline command has its reader add
	code    int    // what it exits with
	says    string // among what it prints

	before  func()            // makes what it is about
	swap    func() [2]string  // what stands there for what is so on this fleet
	follows bool              // it runs until Ctrl-C
	environ map[string]string // beside the settings of the workers
}

// Every command of the pages for operators runs, on a fleet in the state that the page
// speaks of, and says and exits with what the page says. A shell gets each as it stands
// there, but for names that only a running fleet knows: the fence of a turn, a held part.
//
// A command is each line of a sh fence that begins with botmesh or go run, and each
// inline code that begins with botmesh. One of a fence must be among those that are run
// in the same words. One that is inline mostly leaves out its chat: a command with the same
// verb and with each flag that it names must be. And what is run here must be there.
//
// What shows something shows it with -o json too, as one document; an act does so without
// acting, with --dry-run.
//
// SPEC: W3
func TestEveryCommandForOperatorsRuns(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	all := o.commands()
	compare(t, all)
	for _, c := range all {
		if c.before != nil {
			c.before()
		}
		o.run(c)
	}
}

const (
	chat    = 42 // the chat of the pages
	chatKey = "telegram/42"
	records = 20 // of that chat, and the first in the journal: the pages have 17 to 20
	letters = 19 // dead ones: the pages have 17 to 19
)

// commands are all of them, in an order in which one leaves the next what it needs.
func (o *office) commands() (all []documented) {
	for _, part := range [][]documented{o.looking(), o.replaying(), o.stopping(), o.rebuilding(), o.holding(), o.breaking(), o.setAside(), o.others()} {
		all = append(all, part...)
	}
	return all
}

func (o *office) looking() []documented {
	return []documented{
		{command: "botmesh chats show telegram/42", says: "cursor"},
		{command: "botmesh chats timeline telegram/42 --since=1h", says: "receipt"},
		{command: "botmesh chats timeline telegram/42 --text", says: "count: 20"},
		{command: "botmesh chats tail telegram/42 --text", says: "count: 20", follows: true},
		{command: "botmesh chats tail --last=50", says: "telegram/42", follows: true},
		{command: "botmesh chats tail -o json", says: `"chat":"telegram/42"`, follows: true},
		{command: "botmesh chats ls", says: "CHAT"},
		{command: "botmesh chats ls --state=waiting", says: "CHAT"},
		{command: "botmesh chats ls --state=unreadable", says: "CHAT"},
		{command: "botmesh flows", says: "flows lock"},
		{command: "botmesh chats ls --all", says: chatKey},
		{command: "botmesh journal ls --since=1h", says: chatKey},
		{command: "botmesh journal show telegram/42 --last=5", says: "#20 "},
		{command: "botmesh streams plan", says: "all streams are as wanted"},
		{command: "botmesh streams apply --dry-run", says: "all streams are as wanted"},
		{command: "botmesh streams apply", says: "all streams are as wanted"},
		{command: "botmesh config print", says: "nats_url"},
		{command: "botmesh version", says: "botmesh "},
	}
}

func (o *office) replaying() []documented {
	return []documented{
		{command: "botmesh journal replay telegram/42", says: "replayed 20 records with the demo bot; nothing was sent or written"},
		{command: "go run ./cmd/mybot replay telegram/42", says: "replayed 20 records; nothing was sent or written"},
		{command: "go run ./cmd/mybot replay --from=17 --to=20 telegram/42", says: "replayed 20 records, of which 4 are shown"},
		{command: "go run ./cmd/mybot replay --against", says: "1 chat"},
		{command: "go run ./cmd/mybot replay --against --limit=1000 -o json", says: `"verdict": "same"`},
		{command: "go run ./cmd/mybot replay --against telegram/42", says: "1 chat"},
		{command: "botmesh journal replay telegram/42 --from=17 --to=17 --deliver", says: "done: journal replay"},
		{command: "botmesh journal replay telegram/42 --since=2h --deliver", code: 2, says: "say --yes"},
		{command: "botmesh journal replay telegram/42 --since=2h --deliver --yes", says: "done: journal replay"},
	}
}

func (o *office) stopping() []documented {
	paused := func() { o.cli("botmesh chats pause " + chatKey) }
	return []documented{
		{command: `botmesh chats pause telegram/42 --reason="ana talks to them" --dry-run`, says: "would be done: chats pause", before: func() { o.idle(30 * time.Second) }},
		{command: `botmesh chats pause telegram/42 --reason="ana talks to them"`, says: "ana talks to them"},
		{command: "botmesh chats resume telegram/42", says: "ask-again"},
		{command: "botmesh chats resume telegram/42 --skip", says: "skip", before: paused},
		{command: "botmesh chats resume telegram/42 --answer-last", says: "answer-last", before: paused},
		{command: "botmesh chats resume telegram/42 --forget", says: "forget", before: paused},
		{command: "botmesh acts ls --chat=telegram/42", says: "chats pause"},
	}
}

func (o *office) rebuilding() []documented {
	return []documented{
		{command: "botmesh chats pause telegram/42", says: "done: chats pause", before: func() { o.idle(30 * time.Second) }},
		{command: "go run ./cmd/mybot rebuild --dry-run telegram/42", says: chatKey, before: o.loseCheckpoint},
		{command: "go run ./cmd/mybot rebuild telegram/42", says: chatKey},
		{command: "botmesh chats resume telegram/42 --answer-last", says: "done: chats resume"},
	}
}

func (o *office) holding() []documented {
	doubt := func(text string) {
		o.weather(platform.Weather{Status: http.StatusBadGateway, Taken: true})
		o.say(chat, "/echo "+text)
		o.until("botmesh outbox ls --chat="+chatKey, `"part"`)
		o.Weather(nil)
	}
	held := func() [2]string {
		var unsent []struct{ Held []struct{ Part string } }
		o.json("botmesh outbox ls --chat="+chatKey, &unsent)
		return [2]string{"telegram.42/e1.7/0.0", unsent[0].Held[0].Part}
	}
	return []documented{
		{command: "botmesh outbox hold telegram/42", says: "done: outbox hold", before: func() { o.idle(30 * time.Second) }},
		{command: "botmesh outbox release telegram/42", says: "done: outbox release"},
		{command: "botmesh outbox retry telegram/42", says: "done: outbox retry", before: func() {
			o.weather(platform.Weather{Status: http.StatusTooManyRequests})
			o.say(chat, "/echo put off")
			o.until("botmesh outbox ls --chat="+chatKey, `"not_before"`)
		}},
		{command: "botmesh outbox ls", says: "held since", before: func() {
			o.Weather(nil)
			o.hears(chat, "put off", 30*time.Second)
			doubt("in doubt")
		}},
		{command: "botmesh outbox ls --chat=telegram/42", says: "held since"},
		{command: "botmesh outbox release telegram/42 --part=telegram.42/e1.7/0.0", says: "done: outbox release", swap: held},
		{command: "botmesh outbox drop telegram/42 --part=telegram.42/e1.7/0.0", says: "done: outbox drop", before: func() {
			o.idle(30 * time.Second) // the other one is sent, and listed no more
			doubt("again in doubt")
		}, swap: held},
	}
}

func (o *office) breaking() []documented {
	return []documented{
		{command: "botmesh leases ls", says: chatKey, before: func() {
			o.idle(30 * time.Second)
			o.say(chat, "/slow 5")
			o.hears(chat, "working", 20*time.Second)
		}},
		{command: "botmesh leases ls --kind=lead", says: "KIND"},
		{command: "botmesh leases break turn telegram/42", says: "would be done: leases break telegram/42"},
		{command: "botmesh leases break turn telegram/42 --fence=17", says: "done: leases break telegram/42", swap: func() [2]string {
			var leases []struct {
				Key   string
				Fence uint64
			}
			o.json("botmesh leases ls --kind=turn", &leases)
			for _, l := range leases {
				if l.Key == chatKey {
					return [2]string{"=17", fmt.Sprintf("=%d", l.Fence)}
				}
			}
			o.t.Fatalf("got %+v, want the turn of %s", leases, chatKey)
			return [2]string{}
		}},
	}
}

func (o *office) setAside() []documented {
	return []documented{
		{command: "botmesh dlq ls --kind=record", says: "demo: poison", before: func() {
			for i := range int64(letters) {
				o.say(100+i, "/poison")
			}
			o.idle(60 * time.Second)
		}},
		{command: "botmesh doctor", code: 1, says: "dead letters"}, // the page: 1, something is not fine
		{command: "botmesh doctor -o json --waiting=5m", code: 1, says: `"dead letters"`},
		{command: "botmesh dlq show 17", says: "/poison"},
		{command: "botmesh dlq requeue 17 --dry-run", says: "would be done: dlq requeue"},
		{command: "botmesh dlq requeue 17 18", says: "done: dlq requeue"},
		{command: "botmesh dlq drop 19", says: "done: dlq drop"},
		{command: "botmesh dlq requeue --all", code: 2, says: "say --yes", before: func() { o.idle(30 * time.Second) }}, // what was put back failed again
		{command: "botmesh dlq drop --all --kind=record", code: 2, says: "say --yes"},
		{command: "botmesh dlq drop --all --kind=record --yes", says: "done: dlq drop"},
		{command: "botmesh dlq ls", says: "SEQ", before: o.noneSetAside},
	}
}

func (o *office) others() []documented {
	return []documented{
		{command: "botmesh dev", says: "http://", follows: true, environ: map[string]string{
			"BOTMESH_NATS_URL": "nats://" + freeAddr(o.t), "BOTMESH_LISTEN": "127.0.0.1:0", "BOTMESH_ADMIN_LISTEN": "127.0.0.1:0"}},
	}
}

// weather is what calls for the chat meet from now on.
func (o *office) weather(w platform.Weather) {
	o.Weather(func(of string) platform.Weather {
		if of == fmt.Sprint(chat) {
			return w
		}
		return platform.Weather{}
	})
}

// loseCheckpoint takes the chat's checkpoint away, as somebody with a NATS client may.
func (o *office) loseCheckpoint() {
	store, err := o.jetStream().Stream(o.t.Context(), "KV_BOT_"+fleet.Bot+"_CP")
	if err == nil {
		err = store.Purge(o.t.Context(), jetstream.WithPurgeSubject("$KV.BOT_"+fleet.Bot+"_CP."+strings.Replace(chatKey, "/", ".", 1)))
	}
	if err != nil {
		o.t.Fatal(err)
	}
}

// noneSetAside fails unless all dead letters are gone.
func (o *office) noneSetAside() {
	var dead []any
	if o.json("botmesh dlq ls", &dead); len(dead) > 0 {
		o.t.Errorf("got %d dead letters after all were dropped", len(dead))
	}
}

// json reads what a command shows.
func (o *office) json(command string, into any) {
	o.t.Helper()
	if err := json.Unmarshal([]byte(o.cli(command+" -o json")), into); err != nil {
		o.t.Fatalf("%s: %v", command, err)
	}
}
