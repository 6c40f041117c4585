package workerd

import (
	"context"
	"fmt"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/replay"
	"github.com/botmesh-go/botmesh/journal"
)

// Replay runs the records of a chat again without effect, see [replay.Dry], in place of
// serving chats, and closes what New opened. It needs no Redis.
func (w *Worker) Replay(ctx context.Context, chat botmesh.ChatKey, in replay.Range, each func(replay.Step) error) (n replay.Counted, err error) {
	defer w.close(ctx)
	j, err := w.readJournal(ctx)
	if err != nil {
		return n, err
	}
	return replay.Dry(ctx, w.replays(), j, chat, in, each)
}

// readJournal waits until the journal can be read.
func (w *Worker) readJournal(ctx context.Context) (j *journal.Journal, err error) {
	s := w.cfg.Settings
	err = engine.Await(ctx, w.cfg.Log, s, "journal", func(ctx context.Context) error {
		j, err = journal.Open(ctx, journal.Config{
			Bot: s.Bot, Inbox: w.stream(journal.InboxStream(s.Bot)), Dead: w.stream(journal.DeadStream(s.Bot)), Logger: w.cfg.Log,
		})
		return err
	})
	return j, err
}

// Rebuild writes a chat's lost checkpoint anew, see [replay.Rebuild], in place of serving
// chats, and closes what New opened. by says who wants it, for the log of acts.
func (w *Worker) Rebuild(ctx context.Context, by string, o replay.Order) (is replay.Rebuilt, err error) {
	err = w.once(ctx, func(rooms *opened, c coord.Coordinator) error {
		o.Deploy = w.cfg.Settings.Deploy
		o.Before = func(replay.Rebuilt) error {
			_, err := rooms.acts.Write(ctx, acts.Act{By: by, Verb: "rebuild", Chat: &o.Chat})
			return err
		}
		is, err = replay.Rebuild(ctx, w.replays(), replay.Rooms{Journal: rooms.journal, Outbox: rooms.outbox, Store: rooms.store, Coordinator: c}, o)
		return err
	})
	return is, err
}

func (w *Worker) replays() replay.Config {
	return replay.Config{Runner: w.cfg.Runner, Tries: w.cfg.Settings.Tries, Settle: w.cfg.Settings.Settle}
}

// once opens the rooms, calls do and closes all.
func (w *Worker) once(ctx context.Context, do func(*opened, coord.Coordinator) error) error {
	defer w.close(ctx)
	coordinator, err := w.cfg.Coordination.New()
	if err != nil {
		return config.Wrong(fmt.Errorf("workerd: %w", err))
	}
	defer w.leave(ctx, coordinator)
	o, err := w.open(ctx, coordinator)
	if err != nil {
		return err
	}
	return do(o, coordinator)
}
