package workerd

import (
	"context"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/engine"
	"github.com/botmesh-go/botmesh/internal/replay"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
)

// Replay runs the records of a chat again without effect, see [replay.Dry], in place of
// serving chats, and closes what New opened. It needs no Redis.
func (w *Worker) Replay(ctx context.Context, chat botmesh.ChatKey, in replay.Range, each func(replay.Step) error) (n replay.Counted, err error) {
	defer w.close(ctx)
	rooms, err := w.readRooms(ctx)
	if err != nil {
		return n, err
	}
	return replay.Dry(ctx, w.replays(), rooms.Journal, chat, in, each)
}

// Against compares what chats were answered with what they would be now, see
// [replay.Against], in place of serving chats, and closes what New opened: the chats that
// are named, or those that wrote last, up to limit. It needs no Redis.
func (w *Worker) Against(ctx context.Context, chats []botmesh.ChatKey, limit int, each func(replay.Compared) error) error {
	defer w.close(ctx)
	in, err := w.readRooms(ctx)
	if err != nil {
		return err
	}
	if len(chats) == 0 {
		if chats, err = replay.Lately(ctx, in.Journal, limit); err != nil {
			return err
		}
	}
	for _, chat := range chats {
		found, err := replay.Against(ctx, w.replays(), in, chat)
		if err != nil {
			return err
		}
		if err := each(found); err != nil {
			return err
		}
	}
	return nil
}

// openTime bounds how long a command waits for the servers, in place of serving chats: who
// gave it watches.
const openTime = 30 * time.Second

// within calls open with what bounds the wait for the servers, and says who did not answer.
func (w *Worker) within(ctx context.Context, open func(context.Context) error) error {
	bounded, stop := context.WithTimeout(ctx, openTime)
	defer stop()
	err := open(bounded)
	if err != nil && bounded.Err() != nil {
		s := w.cfg.Settings
		err = fmt.Errorf("workerd: %s does not answer, or has no streams of the bot %q (BOTMESH_NATS_URL and BOTMESH_BOT choose others): %w", s.NATS.URL, s.Bot, err)
	}
	return err
}

// readRooms waits until the rooms can be read. What comes of it calls no platform.
func (w *Worker) readRooms(ctx context.Context) (in replay.Rooms, err error) {
	in.Store = natsstore.New(w.stream(natsstore.Stream(w.cfg.Settings.Bot, w.cfg.Settings.Replicas).Name), w.cfg.Settings.Bot)
	err = w.within(ctx, func(ctx context.Context) error {
		return engine.Await(ctx, w.cfg.Log, w.cfg.Settings, "journal and outbox", func(ctx context.Context) error {
			return w.readStreams(ctx, &in)
		})
	})
	return in, err
}

func (w *Worker) readStreams(ctx context.Context, in *replay.Rooms) (err error) {
	s := w.cfg.Settings
	in.Journal, err = journal.Open(ctx, journal.Config{
		Bot: s.Bot, Inbox: w.stream(journal.InboxStream(s.Bot)), Dead: w.stream(journal.DeadStream(s.Bot)), Logger: w.cfg.Log,
	})
	if err != nil {
		return err
	}
	in.Outbox, err = outbox.Open(ctx, outbox.Config{
		Stream: w.stream(outbox.StreamName(s.Bot)), Bot: s.Bot, Incarnation: s.ReplicaID + "/replay", Senders: w.senders.all, Logger: w.cfg.Log,
	})
	return err
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
	var o *opened
	err = w.within(ctx, func(ctx context.Context) error {
		o, err = w.open(ctx, coordinator)
		return err
	})
	if err != nil {
		return err
	}
	return do(o, coordinator)
}
