package jet

import (
	"context"
	"errors"
	"slices"
	"sort"
	"time"

	"github.com/botmesh-go/botmesh"
)

// scanPage is how many messages a scan reads at once.
const scanPage = 256

// Window says which messages of a subject a scan is to return.
type Window struct {
	// From is the first sequence, To the last one, zero for no end.
	From, To uint64
	// Since and Until bound the time of storing, by the server's clock.
	Since, Until time.Time
	// Limit is how many are returned at most. Required.
	Limit int
	// Newest returns the last of what there is, not the first.
	Newest bool
	// Keep, if set, says which messages are returned and count for the limit. To find
	// them the rest of the stream may be read.
	Keep func(Stored) bool
}

// Scan reads the messages of a subject (wildcards allowed) in a window, in order. It
// is complete: where a replica's answer ends, the stream's leader is asked whether
// there is more.
//
// Errors: botmesh.ErrRefused if nobody could answer, or the context's.
func Scan(ctx context.Context, stream Stream, subject string, w Window) ([]Stored, error) {
	from := max(w.From, 1)
	if !w.Since.IsZero() {
		first, err := firstSince(ctx, stream, w.Since)
		if err != nil {
			return nil, err
		}
		from = max(from, first)
	}
	if w.Newest {
		return newest(ctx, stream, subject, from, w)
	}
	return collect(ctx, stream, subject, from, w)
}

// newest looks further and further back until there are enough.
func newest(ctx context.Context, stream Stream, subject string, from uint64, w Window) ([]Stored, error) {
	info, err := stream.Info(ctx)
	if err != nil {
		return nil, err
	}
	from = max(from, info.FirstSeq)
	for width := uint64(w.Limit); ; width *= 8 {
		start := from
		if info.LastSeq >= from+width {
			start = info.LastSeq + 1 - width
		}
		of, err := collect(ctx, stream, subject, start, w)
		if err != nil || len(of) == w.Limit || start == from {
			return of, err
		}
	}
}

// collect reads from a sequence on until there are enough, or to the end if the
// newest are wanted.
func collect(ctx context.Context, stream Stream, subject string, from uint64, w Window) ([]Stored, error) {
	var of []Stored
	for w.Newest || len(of) < w.Limit {
		room := scanPage
		if !w.Newest && w.Keep == nil {
			room = min(w.Limit-len(of), scanPage)
		}
		page, err := stream.Range(ctx, subject, from, room)
		if err == nil && len(page) == 0 {
			page, err = askLeader(ctx, stream, subject, from)
		}
		if err != nil {
			return nil, err
		}
		late := slices.IndexFunc(page, func(m Stored) bool { return w.behind(m) })
		end := late >= 0 || len(page) == 0
		if late >= 0 {
			page = page[:late]
		}
		for _, m := range page {
			from = m.Seq + 1
			if w.Keep == nil || w.Keep(m) {
				of = append(of, m)
			}
		}
		if w.Newest {
			of = of[max(0, len(of)-w.Limit):]
		}
		if end {
			break
		}
	}
	return of[:min(len(of), w.Limit)], nil
}

// behind reports whether a message is behind the window.
func (w Window) behind(m Stored) bool {
	return w.To > 0 && m.Seq > w.To || !w.Until.IsZero() && m.Time.After(w.Until)
}

// askLeader returns the one message that comes next, or none.
func askLeader(ctx context.Context, stream Stream, subject string, from uint64) ([]Stored, error) {
	m, err := stream.Next(ctx, subject, from)
	if errors.Is(err, botmesh.ErrNotFound) {
		return nil, nil
	}
	return []Stored{m}, err
}

// firstSince finds the first sequence stored at or after a time by bisection: the
// server's times grow with the sequences, but for a jump of its clock.
func firstSince(ctx context.Context, stream Stream, since time.Time) (uint64, error) {
	info, err := stream.Info(ctx)
	if err != nil {
		return 0, err
	}
	first := info.FirstSeq
	n := sort.Search(int(info.LastSeq+1-first), func(i int) bool {
		if err != nil {
			return true
		}
		var m Stored
		m, err = stream.Next(ctx, ">", first+uint64(i))
		if errors.Is(err, botmesh.ErrNotFound) {
			err = nil
			return true
		}
		return err != nil || !m.Time.Before(since)
	})
	return first + uint64(n), err
}
