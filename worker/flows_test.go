package worker

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
	"github.com/botmesh-go/botmesh/internal/config"
)

// meal is a bot that asks at each of these steps.
func meal(steps ...flow.Step[struct{}]) *bot.Bot {
	f := flow.New[struct{}]("meal", flow.Trigger("/meal"))
	for _, id := range steps {
		flow.Ask(f, id, ask.Text(), "?", func(c *flow.C[struct{}], _ string) flow.Next { return c.End() })
	}
	return bot.New().Flow(f)
}

// counted is one that asks for a number there.
func counted(id flow.Step[struct{}]) *bot.Bot {
	f := flow.New[struct{}]("meal", flow.Trigger("/meal"))
	flow.Ask(f, id, ask.Int(), "?", func(c *flow.C[struct{}], _ int) flow.Next { return c.End() })
	return bot.New().Flow(f)
}

// A build is compared with the lock of the one before: only one that strands chats fails.
func TestFlowsAreLockedAndCompared(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "flows.lock")
	told := func(b *bot.Bot, args ...string) (string, error) {
		t.Helper()
		return flows(b, append(args, file))
	}
	if _, err := told(meal("dish"), "diff"); !config.IsWrong(err) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a lock: got %v, want that there is none", err)
	}
	if _, err := told(meal("dish"), "lock"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		bot   *bot.Bot
		want  string
		fails bool
	}{
		{"the same", meal("dish"), "are as in", false},
		{"a step more", meal("dish", "size"), "written anew", false},
		{"another kind of answer", counted("dish"), "step meal/dish: was text and is int", false},
		{"another step", meal("size"), "step meal/dish: gone", true},
		{"no flow", bot.New(), "flow meal: gone", true},
	} {
		got, err := told(c.bot, "diff")
		if !strings.Contains(got, c.want) || errors.Is(err, errStrands) != c.fails || !c.fails && err != nil {
			t.Errorf("%s: got %q and %v, want %q and a failure: %v", c.name, got, err, c.want, c.fails)
		}
	}
	for _, args := range [][]string{nil, {"show"}, {"lock", "a", "b"}} {
		if _, err := flows(meal("dish"), args); !config.IsWrong(err) {
			t.Errorf("flows %q: got %v, want a word on its use", args, err)
		}
	}
	if _, err := told(meal(), "lock"); !config.IsWrong(err) {
		t.Errorf("a bot that is not valid: got %v, want what is wrong with it", err)
	}
}
