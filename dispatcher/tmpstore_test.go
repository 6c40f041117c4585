package dispatcher_test

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/internal/jet"
)

type tmpStore struct{ s jet.Stream }

func (t tmpStore) Load(ctx context.Context, key string) (checkpoint.Row, error) {
	m, err := t.s.Last(ctx, "$KV.BOT_demo_CP."+key)
	if errors.Is(err, botmesh.ErrNotFound) {
		return checkpoint.Row{}, nil
	}
	if err != nil {
		return checkpoint.Row{}, err
	}
	return checkpoint.Row{Value: m.Data, Revision: m.Seq, Nonce: m.Header.Get("N"), Written: m.Time}, nil
}

func (t tmpStore) Swap(ctx context.Context, key string, old checkpoint.Row, value []byte, nonce string, ttl time.Duration) (checkpoint.Row, error) {
	for {
		ack, err := t.s.Publish(ctx, jet.Publish{Msg: jet.Msg{Subject: "$KV.BOT_demo_CP." + key, Header: nats.Header{"N": {nonce}}, Data: value}, Expect: &old.Revision, TTL: ttl})
		if err == nil {
			return checkpoint.Row{Value: value, Revision: ack.Seq, Nonce: nonce}, nil
		}
		if errors.Is(err, botmesh.ErrRefused) {
			return checkpoint.Row{}, err
		}
		for {
			if ctx.Err() != nil {
				return checkpoint.Row{}, botmesh.ErrUnknown
			}
			row, err := t.Load(ctx, key)
			if err != nil {
				continue
			}
			if row.Nonce == nonce {
				return row, nil
			}
			if row.Revision != old.Revision {
				return checkpoint.Row{}, botmesh.ErrConflict
			}
			break
		}
	}
}
func (t tmpStore) Keys(context.Context, func(string) bool) error { return nil }
