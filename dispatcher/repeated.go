package dispatcher

import (
	"context"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
)

const (
	// late is how much later than the platform's time of it a record is stored that may
	// be a repetition from beyond the journal's duplicate window. It is half of that
	// window's default, since two clocks are compared.
	late = time.Minute
	// platformSkew is how far the clocks of a platform and of the journal's server may
	// be apart.
	platformSkew = time.Hour
)

// repeated reports whether a record was in the chat before. The chat's recent ids tell,
// for nothing. Only where there were more than they hold, and the platform says that
// the record is from a while ago, the journal is asked, which is the store of all
// ids for as long as it keeps its records. That its earlier record took effect, was set
// aside or had no effect is certain: the cursor is past it.
func (h *hold) repeated(ctx context.Context, r botmesh.Record) (bool, error) {
	if h.cp.Recent.Has(r.ID) {
		return true, nil
	}
	if len(h.cp.Recent) < checkpoint.MaxRecent || r.SentAt.IsZero() || r.Stored.Sub(r.SentAt) < late {
		return false, nil
	}
	var repeated bool
	err := insist(ctx, func() (err error) {
		repeated, err = h.d.cfg.Journal.Repeats(ctx, r, r.SentAt.Add(-platformSkew), &h.earlier)
		return err
	})
	if err != nil {
		return false, chatError("look for earlier records of", h.chat, err)
	}
	return repeated, nil
}
