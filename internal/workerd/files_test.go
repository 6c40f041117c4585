package workerd_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/internal/ingressd"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/redistest"
	"github.com/botmesh-go/botmesh/internal/workerd"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
	"github.com/botmesh-go/botmesh/worker"
)

// reader says what a user's file holds.
func reader() *bot.Bot {
	return bot.New().Fallback(func(c *bot.Context) error {
		m := c.Record().Message.Media
		if len(m) == 0 {
			return nil
		}
		text, err := flow.Do(c, "read", func(context.Context, string) (string, error) {
			f, err := c.Open(m[0])
			switch {
			case errors.Is(err, botmesh.ErrFileTooLarge):
				return "too large", nil
			case errors.Is(err, botmesh.ErrFileGone):
				return "gone", nil
			case err != nil:
				return "", err
			}
			defer f.Close()
			all, err := io.ReadAll(f)
			return fmt.Sprintf("%s of %s: %s", m[0].Kind, f.Type, all), err
		})
		if err != nil {
			return err
		}
		c.Say(text)
		return nil
	})
}

// A bot reads what users send, from the platform, up to the worker's bound.
//
// SPEC: X2
func TestABotReadsFilesOfUsers(t *testing.T) {
	t.Parallel()
	tg := telegramtest.New(token)
	tg.AddFile("voice-1", []byte("hello"))
	tg.AddFile("voice-2", []byte("hello, and much more"))
	f := &fleet{telegram: tg, nats: natstest.Start(t), redis: redistest.Start(t)}
	s := settings(t, "BOTMESH_NATS_URL="+f.nats, "BOTMESH_REDIS_URL="+f.redis.URL(), "BOTMESH_TELEGRAM_API_URL="+serve(t, tg), "BOTMESH_MAX_FILE_BYTES=10")
	var err error
	if f.ingress, err = ingressd.New(t.Context(), ingressd.Config{Settings: s}); err != nil {
		t.Fatal(err)
	}
	run(t, f.ingress.Run)
	runner, err := worker.New(worker.Config{Bot: reader()})
	if err != nil {
		t.Fatal(err)
	}
	w, err := workerd.New(t.Context(), workerd.Config{Settings: s, Runner: runner})
	if err != nil {
		t.Fatal(err)
	}
	run(t, w.Run)
	for i, id := range []string{"voice-1", "voice-2", "voice-3"} {
		f.post(t, fmt.Appendf(nil, `{"update_id":%d,"message":{"message_id":%[1]d,"date":1796000000,"from":{"id":7},"chat":{"id":7,"type":"private"},"voice":{"file_id":%q,"mime_type":"audio/ogg"}}}`, i+1, id))
	}
	want := fmt.Sprint([]string{"voice of audio/ogg: hello", "too large", "gone"})
	natstest.Until(t, "the answers", func() bool { return fmt.Sprint(tg.Texts("7")) == want })
}
