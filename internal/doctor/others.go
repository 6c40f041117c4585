package doctor

import (
	"context"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// othersTime bounds the look for other bots: who may not list streams has no answer.
const othersTime = time.Second

// others looks for the journal of another bot on these servers that has records and
// nobody who asks for them, as an ingress makes that has another bot's id than its
// workers. Who may not list the streams is told nothing.
func others(ctx context.Context, cfg Config) (found []Finding) {
	const is = about("records")
	listing, cancel := context.WithTimeout(ctx, othersTime)
	defer cancel()
	list := cfg.JetStream.ListStreams(listing, jetstream.WithStreamListSubject("bot.in.>"))
	var waiting []string
	for info := range list.Info() {
		if name := info.Config.Name; name != cfg.Inbox && strings.HasPrefix(name, "BOT_") && strings.HasSuffix(name, "_INBOX") && info.State.Msgs > 0 {
			waiting = append(waiting, name)
		}
	}
	if list.Err() != nil {
		return nil
	}
	for _, name := range waiting {
		stream, err := cfg.JetStream.Stream(ctx, name)
		if err != nil {
			continue
		}
		last, asked, err := nudges(ctx, stream, cfg.Lease)
		if err != nil || asked || last != nil && last.NumPending == 0 {
			continue
		}
		bot := strings.TrimSuffix(strings.TrimPrefix(name, "BOT_"), "_INBOX")
		found = append(found, is.warning("give ingress and workers the same BOTMESH_BOT, or start the workers of that bot",
			"bot %s has %d records on these servers, and nobody asks for them", bot, stream.CachedInfo().State.Msgs))
	}
	return found
}
