package flowtest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/flow/flowtest"
)

const talk flow.Step[pet] = "talk"

// scripted is a bot with one flow of one script step.
func scripted(script func(c *flow.Talk[pet]) (flow.Next, error)) *bot.Bot {
	f := flow.New[pet]("talk", flow.Trigger("/talk"))
	flow.Script(f, talk, script)
	return bot.New().Flow(f)
}

// guess draws a number with draw, asks two questions, and tells the number.
func guess(draw func(c *flow.Talk[pet]) (int64, error), prompt string) *bot.Bot {
	return scripted(func(c *flow.Talk[pet]) (flow.Next, error) {
		n, err := draw(c)
		if err != nil {
			return flow.Next{}, err
		}
		if strings.Contains(prompt, "%") {
			prompt := fmt.Sprintf(prompt, n)
			if _, err := flow.Await(c, "first", ask.Text(), prompt); err != nil {
				return flow.Next{}, err
			}
		}
		if _, err := flow.Await(c, "second", ask.Text(), "And now?"); err != nil {
			return flow.Next{}, err
		}
		c.Sayf("it was %d", n)
		return c.End(), nil
	})
}

// SPEC: H13. What a handler takes from a clock, from chance or from outside without
// flow.Do is found; with it, all is well.
func TestRepeatedFindsWhatIsNotRecorded(t *testing.T) {
	t.Parallel()
	outside := int64(0)
	for name, draw := range map[string]func() int64{
		"a clock": func() int64 { return time.Now().UnixNano() },
		"chance":  rand.Int64,
		"outside": func() int64 { outside++; return outside },
	} {
		wild := func(*flow.Talk[pet]) (int64, error) { return draw(), nil }
		tame := func(c *flow.Talk[pet]) (int64, error) {
			return flow.Do(c, "draw", func(context.Context, string) (int64, error) { return draw(), nil })
		}
		for at, prompt := range map[string]string{"in a question": "Not %d?", "at the end": ""} {
			play := func(draw func(*flow.Talk[pet]) (int64, error)) string {
				return failure(t, func(tb testing.TB) {
					b := guess(draw, prompt)
					p := flowtest.Play(tb, b).Repeated()
					for _, text := range []string{"/talk", "a", "b"} {
						p.User(text).Hear()
					}
				})
			}
			if got := play(wild); !strings.Contains(got, "it decides otherwise") && !strings.Contains(got, "the question is another") {
				t.Errorf("%s, %s: got failure %q, want it found", name, at, got)
			}
			if got := play(tame); got != "" {
				t.Errorf("%s within Do, %s: got failure %q, want none", name, at, got)
			}
		}
	}
}

// So is what does something else in its second run, though it says the same.
func TestRepeatedFindsWhatIsDoneOtherwise(t *testing.T) {
	t.Parallel()
	runs := 0
	b := bot.New().Fallback(func(c *bot.Context) error {
		runs++
		_, err := flow.Do(c, fmt.Sprint("step ", runs), func(context.Context, string) (int, error) { return 1, nil })
		return err
	})
	got := failure(t, func(tb testing.TB) { flowtest.Play(tb, b).Repeated().User("go") })
	if !strings.Contains(got, "it keeps something else") {
		t.Errorf("got failure %q, want it found", got)
	}
}

// A question that differs only when its script runs again is found as well: the two
// runs of one record agree here.
func TestRepeatedAsksAgain(t *testing.T) {
	t.Parallel()
	records := map[uint64]int{} // the questions of each record are numbered by it
	b := scripted(func(c *flow.Talk[pet]) (flow.Next, error) {
		if _, ok := records[c.Record().Seq]; !ok {
			records[c.Record().Seq] = len(records)
		}
		n := records[c.Record().Seq]
		if c.Text() == "~0:" {
			n = 99
		}
		_, err := flow.Await(c, "first", ask.Text(), fmt.Sprintf("Question %d?", n))
		return c.End(), err
	})
	got := failure(t, func(tb testing.TB) { flowtest.Play(tb, b).Repeated().User("/talk").Bot("Question 0?") })
	if !strings.Contains(got, "the question is another") {
		t.Errorf("got failure %q, want it found", got)
	}
}

func TestHandOverAndRedeploy(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, petBot())
	p.User("/now").Bot("working 1", "done 1").User("/now").Bot("working 2", "done 2")
	p.HandOver(petBot()).User("/now").Bot("working 1", "done 1") // what was in memory alone is gone
	p.User("/pet").Bot("Name?").Redeploy(petBot()).User("Rex").Bot("Sure?")

	got := failure(t, func(tb testing.TB) {
		flowtest.Play(tb, petBot()).User("/pet").Bot("Name?").Redeploy(bot.New()).User("Rex")
	})
	if !strings.Contains(got, `there is no flow "pet"`) {
		t.Errorf("a build without the flow: got failure %q", got)
	}
	if got := failure(t, func(tb testing.TB) { flowtest.Play(tb, petBot()).HandOver(bot.New().Command("x", nil)) }); !strings.Contains(got, "not valid") {
		t.Errorf("a bot that is not valid: got failure %q", got)
	}
}

// petFlow is a flow whose last step only the right answers lead to.
func petFlow(end func(c *flow.C[pet], yes bool) flow.Next, more ...string) *flow.Flow[pet] {
	f := flow.New[pet]("pet", flow.Back(3))
	flow.Ask(f, askName, ask.Choice("cat", "dog"), "Which?", func(c *flow.C[pet], kind string) flow.Next {
		c.State.Name = kind
		return c.Goto("pass")
	})
	flow.Script(f, "pass", func(c *flow.Talk[pet]) (flow.Next, error) { return c.Goto("secret"), nil })
	flow.Ask(f, "secret", ask.Text(), "The word?", func(c *flow.C[pet], word string) flow.Next {
		if word != "sesame" {
			return c.Reject("No.")
		}
		return c.Goto(askSure)
	})
	flow.Ask(f, askSure, ask.Confirm(), "Sure?", end)
	for _, step := range more {
		flow.Ask(f, flow.Step[pet](step), ask.Confirm(), "Lost?", end)
	}
	return f
}

func TestWalk(t *testing.T) {
	t.Parallel()
	ends := func(c *flow.C[pet], _ bool) flow.Next { return c.End() }
	flowtest.Walk(t, petFlow(ends), "sesame")
	flowtest.Walk(t, petFlow(func(c *flow.C[pet], _ bool) flow.Next { return c.Human() }), "sesame")
	for name, tt := range map[string]struct {
		f       flow.Definition
		answers []string
		want    string
	}{
		"no answer that fits": {petFlow(ends), nil, `step "sure": never reached`},
		"no way there":        {petFlow(ends, "island"), []string{"sesame"}, `step "island": never reached`},
		"a way that is none":  {petFlow(func(c *flow.C[pet], _ bool) flow.Next { return c.Goto("nowhere") }), []string{"sesame"}, "goto \"nowhere\", which is not a step\nthe conversation:\n> "},
		"chance": {petFlow(func(c *flow.C[pet], _ bool) flow.Next {
			c.Sayf("%d", rand.Int64())
			return c.End()
		}), []string{"sesame"}, "it decides otherwise"},
		"no text":   {petFlow(func(c *flow.C[pet], _ bool) flow.Next { c.Say(" "); return c.End() }), []string{"sesame"}, "a message without a text"},
		"not valid": {flow.New[pet]("empty"), nil, "has no steps"},
	} {
		if got := failure(t, func(tb testing.TB) { flowtest.Walk(tb, tt.f, tt.answers...) }); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got failure %q, want %q in it", name, got, tt.want)
		}
	}
}

func TestFiles(t *testing.T) { // alone: it sets the flag that writes files
	dir := t.TempDir()
	file := filepath.Join(dir, "pet.chat")
	write := func(s string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const right = "# A pet.\n> /pet\n< Name?\n> Rex\n< Sure? [Yes] [No]\n\n! No\n< Rex: false\n> two\n  lines\n"
	write(strings.Replace(right, "< Name?\n", "< Gone?\n< More?\n", 1))
	if err := flag.Set("update", "true"); err != nil {
		t.Fatal(err)
	}
	flowtest.Files(t, filepath.Join(dir, "*.chat"), func() flowtest.Bot { return petBot() })
	if err := flag.Set("update", "false"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != right {
		t.Fatalf("written: got %q, %v, want %q", got, err, right)
	}
	flowtest.Files(t, filepath.Join(dir, "*.chat"), func() flowtest.Bot { return petBot() })
}

func TestLockMakesItsFolder(t *testing.T) { // alone: it sets the flag that writes files
	file := filepath.Join(t.TempDir(), "testdata", "flows.lock")
	f := flow.New[pet]("pet")
	if err := flag.Set("update", "true"); err != nil {
		t.Fatal(err)
	}
	told := failure(t, func(tb testing.TB) { flowtest.Lock(tb, file, f) })
	if err := flag.Set("update", "false"); err != nil {
		t.Fatal(err)
	}
	if told != "" {
		t.Fatalf("writing the lock: got failure %q, want none", told)
	}
	flowtest.Lock(t, file, f)
}

// fileBot reads the files of a message in a step of its own.
func fileBot() *bot.Bot {
	f := flow.New[struct{}]("scan", flow.Trigger("/scan"))
	flow.Ask(f, "page", ask.Media(), "The page?", func(c *flow.C[struct{}], files []botmesh.Media) flow.Next {
		text, err := flow.Do(c, "read", func(context.Context, string) (string, error) {
			r, err := c.Open(files[0])
			if errors.Is(err, botmesh.ErrFileGone) {
				return "gone", nil
			}
			if err != nil {
				return "", err
			}
			defer r.Close()
			all, err := io.ReadAll(r)
			return fmt.Sprintf("%s, %s, %d: %s", r.Name, r.Type, r.Size, all), err
		})
		if err != nil {
			return c.Fail(err)
		}
		c.Say(text)
		return c.End()
	})
	return bot.New().Flow(f)
}

func TestFile(t *testing.T) {
	t.Parallel()
	p := flowtest.Play(t, fileBot()).Repeated()
	p.User("/scan").Bot("The page?").File(botmesh.Media{Kind: "image", Name: "a.png", Type: "image/png"}, "words").Bot("a.png, image/png, 5: words").Idle()
	p.User("/scan").Bot("The page?").Record(botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Media: []botmesh.Media{{Kind: "image", Ref: "?"}}}}).Bot("gone").Idle()
}

// What runs nowhere has no files, and says so.
func TestOpenWithoutAPlatform(t *testing.T) {
	t.Parallel()
	turn := flow.NewTurn(t.Context(), botmesh.Run{}, nil)
	if _, err := turn.Open(botmesh.Media{Ref: "1"}); !errors.Is(err, botmesh.ErrFileUnsupported) {
		t.Errorf("got %v, want %v", err, botmesh.ErrFileUnsupported)
	}
}

func TestSentFiles(t *testing.T) {
	t.Parallel()
	desk := botmesh.ChatKey{Provider: "slack", Chat: "desk"}
	send := func(c *bot.Context) error {
		image := &botmesh.Media{Kind: botmesh.MediaImage, URL: c.Args()}
		if err := c.SendNow(botmesh.Send{Media: image}); err != nil {
			return err
		}
		c.Send(botmesh.Send{Text: "again", Media: image})
		c.SendTo(desk, botmesh.Send{Media: &botmesh.Media{Kind: botmesh.MediaVoice, Ref: "f1"}})
		return nil
	}
	late := func(c *bot.Context) error {
		c.SendTo(desk, botmesh.Send{Media: &botmesh.Media{Kind: "photo", Ref: "f1"}})
		return nil
	}
	b := bot.New().Command("/send <at>", send).Command("/late", late)
	p := flowtest.Play(t, b)
	p.User("/send https://example.org/a.png").
		Bot("(image https://example.org/a.png)", "(image https://example.org/a.png) again").Told(desk, "(voice f1)")
	p.Poison("/send ftp://example.org").Silent()
	p.Poison("/late").Silent()
	const want = "> /send https://example.org\n< (image https://example.org)\n< (image https://example.org) again\n"
	if got := flowtest.Transcript(b, "/send https://example.org"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
