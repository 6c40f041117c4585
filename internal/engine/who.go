package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/botmesh-go/botmesh/internal/jet"
)

const (
	firstWord = 2 * time.Second        // how long Who waits for the first answer
	nextWord  = 500 * time.Millisecond // and after each for another
	mostWords = 1000                   // answers that Who takes
)

// whoSubject is where the ingresses of a bot are asked who is there. No stream has it.
func whoSubject(bot string) string { return "bot.who." + bot }

// Answer tells who asks, by [Who], what this ingress is, until ctx ends. It answers again
// when a connection that was lost is back. The error is nil: that an ingress is known of is
// a hint for operators, and nothing else goes by it.
func Answer(ctx context.Context, conn *jet.Conn, bot string, is func() any) error {
	sub, err := conn.NATS().Subscribe(whoSubject(bot), func(m *nats.Msg) {
		if text, err := json.Marshal(is()); err == nil {
			_ = m.Respond(text) // who asked does not hear it, and may ask again
		}
	})
	if err != nil {
		return nil // the connection is closed
	}
	<-ctx.Done()
	_ = sub.Unsubscribe() // as above
	return nil
}

// Who asks the ingresses of a bot what they are, each a T. It is a hint: who does not answer
// within seconds may be there all the same, cut off, of an older build, or not allowed to
// listen or to answer. An error means that nobody could be asked.
func Who[T any](ctx context.Context, conn *jet.Conn, bot string) (all []T, err error) {
	nc := conn.NATS()
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err == nil {
		defer func() { _ = sub.Unsubscribe() }() // an error means that the connection is closed
		err = nc.PublishRequest(whoSubject(bot), inbox, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("engine: ask who is there: %w", err)
	}
	for wait := firstWord; len(all) < mostWords; wait = nextWord {
		ctx, cancel := context.WithTimeout(ctx, wait)
		m, err := sub.NextMsgWithContext(ctx)
		cancel()
		if err != nil { // no more of them, or none at all
			return all, nil
		}
		var one T
		if err := json.Unmarshal(m.Data, &one); err != nil {
			return all, fmt.Errorf("engine: who is there: %w", err)
		}
		all = append(all, one)
	}
	return all, nil
}
