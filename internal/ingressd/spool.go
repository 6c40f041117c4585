package ingressd

import (
	"context"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh/ingress/spool"
	"github.com/botmesh-go/botmesh/internal/config"
)

// flushTime bounds how long a stopping ingress empties its disk. What is left waits for
// the next process.
const flushTime = 2 * time.Second

// openSpool keeps webhooks on the disk while NATS does not take them, if the settings
// say where.
func (in *Ingress) openSpool() (err error) {
	s := in.cfg.Settings.Spool
	if s.Dir == "" {
		return nil
	}
	in.spool, err = spool.Open(spool.Config{Stream: in.inbox, Dir: s.Dir, MaxBytes: int64(s.MaxBytes), Logger: in.cfg.Log})
	if err != nil {
		return config.Wrong(fmt.Errorf("%s: %w", config.EnvName("spool_dir"), err))
	}
	return nil
}

// closeSpool empties the disk, if that can be done at once, and closes the file.
func (in *Ingress) closeSpool(ctx context.Context) {
	if in.spool == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	if err := in.spool.Flush(ctx); err != nil {
		in.cfg.Log.Warn("the disk was not emptied", "err", err)
	}
	if err := in.spool.Close(); err != nil {
		in.cfg.Log.Warn("the spool was not closed in order", "err", err)
	}
}

// keeps reports whether a webhook that NATS does not take now is kept.
func (in *Ingress) keeps() bool { return in.spool != nil && !in.spool.Status().Full }

// spooled is what the spool keeps, nil if there is none.
func (in *Ingress) spooled() *spool.Status {
	if in.spool == nil {
		return nil
	}
	is := in.spool.Status()
	return &is
}

// note is what those who look at readiness are told beside it.
func (in *Ingress) note() string {
	note := in.sessions.note()
	if is := in.spooled(); is != nil && is.Messages > 0 {
		if note != "" {
			note += "\n"
		}
		note += fmt.Sprintf("spool: %d messages wait on the disk since %s", is.Messages, is.Since.UTC().Format(time.RFC3339))
	}
	return note
}
