package workerd

import (
	"context"
	"fmt"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/replay"
)

// Rebuild writes a chat's lost checkpoint anew, see [replay.Rebuild], in place of serving
// chats, and closes what New opened. by says who wants it, for the log of acts.
func (w *Worker) Rebuild(ctx context.Context, by string, o replay.Order) (replay.Rebuilt, error) {
	defer w.close(ctx)
	coordinator, err := w.cfg.Coordination.New()
	if err != nil {
		return replay.Rebuilt{}, config.Wrong(fmt.Errorf("workerd: %w", err))
	}
	defer w.leave(ctx, coordinator)
	rooms, err := w.open(ctx, coordinator)
	if err != nil {
		return replay.Rebuilt{}, err
	}
	o.Deploy = w.cfg.Settings.Deploy
	o.Before = func(replay.Rebuilt) error {
		_, err := rooms.acts.Write(ctx, acts.Act{By: by, Verb: "rebuild", Chat: &o.Chat})
		return err
	}
	s, pause := w.cfg.Settings, rooms.pauses.Known(o.Chat)
	over := func(r botmesh.Record) bool { return !r.Stored.Before(pause.Since) && pause.PassesOver(r.Epoch, r.Seq) }
	return replay.Rebuild(ctx,
		replay.Config{Runner: w.cfg.Runner, Tries: s.Tries, Settle: s.Settle, PassesOver: over},
		replay.Rooms{Journal: rooms.journal, Outbox: rooms.outbox, Store: rooms.store, Coordinator: coordinator}, o)
}
