package dispatcher

import (
	"errors"
	"math"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/journal"
)

// strand leaves a record where it is whose run could not go on from the chat's state: the
// turn is given up, no try is spent, and what is behind it waits too. If a record behind it
// leads out of the conversation it has no effect, and the chat goes on.
//
// That it waits, since when and why stands in the checkpoint, for whoever looks, and so that
// no later replica counts anew. A crash before that write, or after it, leaves the record to
// be run again.
func (h *hold) strand(r botmesh.Record, tries checkpoint.Tries, cause error) error {
	through, leaves, err := h.wayOut(r)
	switch {
	case err != nil:
		return err
	case leaves:
		h.d.log.InfoContext(h.ctx, "a record of a stranded conversation is passed over, which its user left", "chat", h.chat, "seq", r.Seq)
		h.d.parking.served(h.key)
		return h.skip(r)
	}
	if tries.Stranded.IsZero() || h.cp.Claim != nil {
		if tries.Stranded.IsZero() {
			tries.Stranded = time.Now()
			h.d.log.WarnContext(h.ctx, "this build can not go on from the chat's state, which waits for one that can",
				"chat", h.chat, "seq", r.Seq, "from", h.cp.By, "err", firstLine(cause))
		}
		tries.NotBefore, tries.Error = time.Time{}, shorten(cause.Error())
		next := h.cp
		next.Tries, next.Claim, next.Effects = &tries, nil, nil // its run has ended, whatever becomes of this process
		if err := h.write(h.ctx, next, 0, math.MaxInt); err != nil {
			return err
		}
	}
	return h.d.parking.stranded(h.chat, tries, through)
}

// wayOut looks behind a stranded record for one that leads out, and returns up to where it
// looked. What a look before has seen is passed over, and what it found is not looked for
// again: many records may be in front of it.
func (h *hold) wayOut(r botmesh.Record) (through uint64, found bool, err error) {
	if r.Seq < h.exit {
		return h.exit, true, nil
	}
	through = max(r.Seq, h.d.parking.seenThrough(h.chat))
	for more := true; more; {
		entries, err := h.behind(through)
		if err != nil {
			return 0, false, err
		}
		for _, e := range entries {
			if through = e.Record.Seq; e.Err != nil || !h.leaves(e.Record) || h.passedOver(e.Record) {
				continue
			}
			repeated, err := h.repeated(h.ctx, e.Record)
			switch {
			case err != nil:
				return 0, false, err
			case !repeated:
				h.exit = through
				return through, true, nil
			}
		}
		more = len(entries) == readLimit
	}
	// A replica that lags shows less than there is.
	if top := h.highest(); top > through {
		there, err := h.d.cfg.Journal.Prove(h.ctx, h.chat, top)
		switch {
		case err != nil && !errors.Is(err, botmesh.ErrRefused) && !errors.Is(err, journal.ErrNotProven):
			return 0, false, chatError("read the records of", h.chat, err)
		case err != nil || there:
			return 0, false, &laterError{time.Now().Add(h.d.cfg.Lease / 15), "a record is not to be read yet"}
		}
		through = top
	}
	return through, false, nil
}

// behind reads the chat's records after a sequence.
func (h *hold) behind(seq uint64) (entries []journal.Entry, err error) {
	err = insist(h.ctx, func() (err error) {
		entries, err = h.d.cfg.Journal.Read(h.ctx, h.chat, seq, readLimit)
		return err
	})
	if err != nil {
		err = chatError("read the records of", h.chat, err)
	}
	return entries, err
}

// leaves reports whether a record ends the chat's conversation, wherever it stands.
func (h *hold) leaves(r botmesh.Record) bool {
	leaver, ok := as[Leaver](h.d.cfg.Runner)
	return ok && leaver.Leaves(r)
}
