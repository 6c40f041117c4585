package bot_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
)

// heard runs one record of a new chat and returns what the bot says.
func heard(t *testing.T, b *bot.Bot, r botmesh.Record, now time.Time) []string {
	t.Helper()
	r.Chat = botmesh.ChatKey{Provider: "test", Chat: "1"}
	out, err := b.Turn(t.Context(), botmesh.Run{Record: r, Try: 1, Now: now}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, s := range out.Sends {
		texts = append(texts, s.Text)
	}
	if (texts == nil) != out.Ignored {
		t.Errorf("%s: got %q and ignored %v, want one of them", r.Type, texts, out.Ignored)
	}
	return texts
}

// What is no message reaches its own handler and none other.
//
// SPEC: J9 O5
func TestEventsRunTheirHandler(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	say := func(c *bot.Context) error { c.Say(c.Text()); return nil }
	quiet := bot.New().Command("/x", say).Fallback(say)
	loud := bot.New().Command("/x", say).Fallback(say).
		On(botmesh.TypeEdit, func(c *bot.Context) error { c.Sayf("edit of %s", c.Record().Message.Of); return nil }).
		On(botmesh.TypeOptOut, func(c *bot.Context) error { c.Say("no more " + c.Record().Message.Status); return nil }).
		On(botmesh.TypeEvent, func(c *bot.Context) error { c.Say("event"); return nil }).
		OnSendFailed(func(c *bot.Context) error { c.Sayf("failed: %s", c.Record().Failed.Error); return nil }).
		Stale(time.Hour, func(c *bot.Context) error { c.Say("late"); return nil })
	if err := loud.Validate(); err != nil {
		t.Error(err)
	}
	for name, tt := range map[string]struct {
		record botmesh.Record
		want   []string
	}{
		"edit":           {botmesh.Record{Type: botmesh.TypeEdit, Message: botmesh.Message{Text: "/x", Of: "m1"}}, []string{"edit of m1"}},
		"opt-out":        {botmesh.Record{Type: botmesh.TypeOptOut, Message: botmesh.Message{Status: "offers"}}, []string{"no more offers"}},
		"opt-in":         {botmesh.Record{Type: botmesh.TypeOptIn, Message: botmesh.Message{Status: "offers"}}, nil},
		"other event":    {botmesh.Record{Type: botmesh.TypeEvent}, []string{"event"}},
		"failed send":    {botmesh.Record{Type: botmesh.TypeEvent, Failed: &botmesh.Failure{Error: "403"}}, []string{"failed: 403"}},
		"no handler":     {botmesh.Record{Type: botmesh.TypeReaction, Message: botmesh.Message{Text: "/x"}}, nil},
		"late message":   {botmesh.Record{Type: botmesh.TypeMessage, SentAt: now.Add(-2 * time.Hour), Message: botmesh.Message{Text: "/x"}}, []string{"late"}},
		"late press":     {botmesh.Record{Type: botmesh.TypeCallback, SentAt: now.Add(-2 * time.Hour), Message: botmesh.Message{Payload: "x"}}, []string{"late"}},
		"replayed":       {botmesh.Record{Type: botmesh.TypeMessage, SentAt: now.Add(-2 * time.Hour), ReplayOf: "e1.1", Message: botmesh.Message{Text: "hi"}}, []string{"hi"}},
		"late edit":      {botmesh.Record{Type: botmesh.TypeEdit, SentAt: now.Add(-2 * time.Hour), Message: botmesh.Message{Of: "m2"}}, []string{"edit of m2"}},
		"without a time": {botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Text: "hi"}}, []string{"hi"}},
		"in time":        {botmesh.Record{Type: botmesh.TypeMessage, SentAt: now.Add(-time.Minute), Message: botmesh.Message{Text: "hi"}}, []string{"hi"}},
	} {
		if diff := cmp.Diff(tt.want, heard(t, loud, tt.record, now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := heard(t, quiet, tt.record, now); got != nil && tt.record.Type != botmesh.TypeMessage && tt.record.Type != botmesh.TypeCallback {
			t.Errorf("%s: got %q without a handler, want nothing", name, got)
		}
	}
}

// keeper is what runs of a record keep.
type keeper struct {
	botmesh.Midway
	kept []byte
}

func (k *keeper) Keep(_ context.Context, kept []byte) error { k.kept = kept; return nil }

// A run that kept something is followed by one that takes its message for as late as it did,
// whatever the time.
func TestRunsOfOneMessageAgreeThatItIsLate(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	do := func(c *bot.Context) error {
		_, err := flow.Do(c, "look", func(context.Context, string) (int, error) { return 1, nil })
		c.Sayf("late: %t", c.Stale())
		return err
	}
	for name, tt := range map[string]struct {
		age, later time.Duration
		want       string
	}{
		"late":    {2 * time.Hour, -90 * time.Minute, "late: true"},
		"in time": {30 * time.Minute, time.Hour, "late: false"},
	} {
		var k keeper
		for _, after := range []time.Duration{0, tt.later} {
			r := botmesh.Record{Type: botmesh.TypeMessage, SentAt: now.Add(-tt.age), Chat: botmesh.ChatKey{Provider: "test", Chat: "1"}}
			out, err := bot.New().StaleAfter(time.Hour).Fallback(do).
				Turn(t.Context(), botmesh.Run{Record: r, Try: 1, Now: now.Add(after), Kept: k.kept}, &k)
			if err != nil || len(out.Sends) != 1 || out.Sends[0].Text != tt.want || k.kept == nil {
				t.Errorf("%s, %v after the first: got %v and error %v, want %q", name, after, out.Sends, err, tt.want)
			}
		}
	}
}

func TestEventsThatAreWrong(t *testing.T) {
	t.Parallel()
	err := bot.New().On(botmesh.TypeMessage, echo).On(botmesh.TypeEdit, nil).On(botmesh.TypeDelete, echo).On(botmesh.TypeDelete, echo).
		OnSendFailed(nil).Stale(0, echo).StaleAfter(time.Hour).StaleAfter(time.Hour).Validate()
	for _, want := range []string{`"message" have no handler`, `"edit" has no handler`, `"delete" is registered twice`, "OnSendFailed", "Stale has", "StaleAfter has"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}
