package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/dev"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/provider"
)

const seen bot.State[int] = "seen"

// ownMain is the program of somebody's own bot.
func ownMain() {
	b := bot.New().Fallback(func(c *bot.Context) error {
		n := seen.Of(c)
		*n++
		c.Sayf("heard %d", *n)
		return nil
	})
	b.Flow(flow.NewLive("greet", func(c *flow.Live) error {
		name, err := flow.Wait(c, ask.Text(), "Who are you?")
		c.Say("Hello " + name)
		return err
	}, flow.Trigger("/greet")))
	if os.Getenv("OWN_BROKEN") != "" {
		b.Command("no slash", nil)
	}
	dev.Config{Bot: b, Dir: os.Getenv("OWN_DIR"), Receivers: []provider.Receiver{pigeon{}}, Senders: []provider.Sender{pigeon{}}}.Main()
}

// pigeon is a platform of one's own: it believes whoever writes, and says what it sends on
// standard output.
type pigeon struct{}

func (pigeon) ID() string                          { return "pigeon" }
func (pigeon) MaxBody() int64                      { return 100 }
func (pigeon) Verify(http.Header, []byte) error    { return nil }
func (pigeon) Split(s botmesh.Send) []botmesh.Send { return []botmesh.Send{s} }

func (p pigeon) Parse(_ http.Header, body []byte) ([]botmesh.Record, error) {
	return []botmesh.Record{{
		Type: botmesh.TypeMessage, ID: "1", User: "1", Chat: botmesh.ChatKey{Provider: p.ID(), Chat: "1"}, Message: botmesh.Message{Text: string(body)},
	}}, nil
}

func (pigeon) Call(_ context.Context, c provider.Call) (provider.Sent, error) {
	fmt.Println("pigeon to", c.Chat, c.Send.Text)
	return provider.Sent{MessageID: "1"}, nil
}

func startOwn(t *testing.T, env ...string) *devProcess {
	t.Helper()
	cmd := command(t, append(env, "BOTMESH_LISTEN=127.0.0.1:0", "BOTMESH_ADMIN_LISTEN=127.0.0.1:0"))
	cmd.Env = append(cmd.Env, role+"=own")
	return startProcess(t, cmd)
}

// A program of one's own is a fleet in one process too, and remembers.
//
// SPEC: D3
func TestDevOfOnesOwn(t *testing.T) {
	t.Parallel()
	env := []string{"OWN_DIR=" + t.TempDir(), "BOTMESH_NATS_URL=" + freeNATS(t), "BOTMESH_HANDOVER_FALLBACK=notify"}
	dev := startOwn(t, env...)
	chat := newBrowser(t, dev.addr)
	chat.say("a")
	if got := chat.hear(); got != "heard 1" {
		t.Errorf("got %q, want %q", got, "heard 1")
	}
	resp, err := chat.client.Post("http://"+dev.addr+"/webhooks/pigeon", "text/plain", strings.NewReader("coo"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	want := "pigeon to pigeon/1 heard 1\n"
	for line := ""; line != want; {
		if line, err = dev.out.ReadString('\n'); err != nil {
			t.Fatalf("got %v, want %q", err, want)
		}
	}
	chat.say("/greet")
	if got := chat.hear(); got != "Who are you?" {
		t.Errorf("got %q, want the question of the live conversation", got)
	}
	code, shown, _ := finished(t, []string{env[1]}, "chats", "show", "webchat/"+chat.chat)
	if want := "\nquestion    greet, asked with record "; code != 0 || !strings.Contains(shown, want) || !strings.Contains(shown, "; it is in the memory of dev-") {
		t.Errorf("got code %d and\n%s\nwant %q in it, and where", code, shown, want)
	}
	if said := dev.stop(t); !strings.Contains(said, "Stopped. The conversations go on when you start it again, but for live and ephemeral ones.") {
		t.Errorf("got %q, want it to say what goes on", said)
	}
	dev = startOwn(t, env...)
	chat.addr = dev.addr
	chat.open()
	chat.say("Ana")
	if got := chat.hear(); got != "we were interrupted, please begin again" {
		t.Errorf("got %q, want what the settings say of a live conversation that was lost", got)
	}
	chat.say("b")
	if got := chat.hear(); got != "heard 2" {
		t.Errorf("got %q after a restart, want %q", got, "heard 2")
	}
	dev.stop(t)
}

func TestDevOfOnesOwnThatIsWrong(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ env, arg, want string }{
		"bot":      {"OWN_BROKEN=1", "", "the bot is not valid"},
		"settings": {"BOTMESH_STANDARDWEBHOOKS_API_URL=http://127.0.0.1:1", "", "BOTMESH_STANDARDWEBHOOKS_SEND_SECRET is not set"},
		"argument": {"", "flows", `"flows" is for the program that has worker.Main(b)`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := []string{"OWN_DIR=" + t.TempDir(), "BOTMESH_NATS_URL=" + freeNATS(t), "BOTMESH_LISTEN=127.0.0.1:0", tt.env}
			cmd := command(t, env, append(strings.Fields(tt.arg), "--admin-listen=127.0.0.1:0")...)
			cmd.Env = append(cmd.Env, role+"=own")
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(out), tt.want) {
				t.Errorf("got code %d and %s, want 2 and %q", code, out, tt.want)
			}
		})
	}
}
