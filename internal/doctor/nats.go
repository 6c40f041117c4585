package doctor

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh/streams"
)

const (
	// behind is how many operations a stream's copy may lack on its way.
	behind = 1000
	// full is how full a bounded stream may be, in hundredths.
	full = 90
	// pulls is how often a consumer is looked at for who asks it: between two requests
	// of a worker nobody does.
	pulls     = 10
	pullPause = 100 * time.Millisecond
)

// streamsAsWanted compares the streams with the settings: copies, retention, the
// duplicate window.
func streamsAsWanted(ctx context.Context, cfg Config) (found []Finding) {
	const is = about("streams")
	diff, err := streams.Plan(ctx, cfg.JetStream, cfg.Streams)
	if err != nil {
		return is.unknown(err)
	}
	for _, c := range diff {
		if c.Absent {
			found = append(found, is.broken("botmesh streams apply makes it", "%s is absent", c.Stream))
			continue
		}
		for _, f := range c.Fields {
			found = append(found, is.warning("set what is right, or let botmesh streams apply change the stream",
				"%s: %s is %s, and %s by the settings", c.Stream, f.Name, f.Have, f.Want))
		}
	}
	if found == nil {
		found = append(found, is.fine("all %d are as the settings want them", len(cfg.Streams)))
	}
	return found
}

// copies looks at where the streams are kept.
func copies(ctx context.Context, cfg Config) (found []Finding) {
	const is = about("copies")
	single, looked := 0, 0
	for _, want := range cfg.Streams {
		stream, err := cfg.JetStream.Stream(ctx, want.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue // said before
		}
		if err != nil {
			return append(found, is.unknown(err)...)
		}
		looked++
		info := stream.CachedInfo()
		if c := info.Config; c.MaxBytes > 0 && info.State.Bytes*100 >= uint64(c.MaxBytes)*full {
			found = append(found, is.broken("raise its max_bytes: a full stream refuses messages, or drops its oldest", "%s is %d%% full", want.Name, info.State.Bytes*100/uint64(c.MaxBytes)))
		}
		if info.Cluster == nil || info.Cluster.Name == "" {
			single++
			continue
		}
		found = append(found, peers(info)...)
	}
	switch {
	case single > 0:
		found = append(found, is.fine("a single server keeps the streams: what is lost with its disk is lost"))
	case found == nil && looked > 0:
		found = append(found, is.fine("every stream has a leader, and its copies are up to date"))
	}
	return found
}

// peers looks at the copies of one stream of a cluster.
func peers(info *jetstream.StreamInfo) (found []Finding) {
	const is = about("copies")
	name := info.Config.Name
	if info.Config.Replicas == 1 {
		found = append(found, is.warning("set BOTMESH_REPLICAS=3 and run botmesh streams apply", "%s has one copy in a cluster: it is away when that server is", name))
	}
	if info.Cluster.Leader == "" {
		found = append(found, is.broken("start the NATS servers that are down: more than half of its copies are needed", "%s has no leader: it takes nothing", name))
	}
	for _, p := range info.Cluster.Replicas {
		switch {
		case p.Offline:
			found = append(found, is.warning("start it: one more lost and the stream takes nothing", "%s: its copy on %s is offline", name, p.Name))
		case !p.Current && p.Lag > behind:
			found = append(found, is.warning("look at the disk and the network of that server", "%s: its copy on %s lacks %d operations", name, p.Name, p.Lag))
		}
	}
	return found
}

// consumer looks at who asks for the journal's records.
func consumer(ctx context.Context, cfg Config) []Finding {
	const is = about("records")
	stream, err := cfg.JetStream.Stream(ctx, cfg.Inbox)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil // said before
	}
	if err != nil {
		return is.unknown(err)
	}
	const start = "is a worker running, with this bot's id and these servers? its log and /readyz say more"
	nudges, asked, err := nudges(ctx, stream, cfg.Lease)
	switch {
	case err != nil:
		return is.unknown(err)
	case nudges == nil && stream.CachedInfo().State.Msgs == 0:
		return []Finding{is.warning(start, "no worker ever asked for records; there is none yet")}
	case nudges == nil:
		return []Finding{is.broken(start, "no worker ever asked for records, and the journal has %d", stream.CachedInfo().State.Msgs)}
	}
	var found []Finding
	if wait := nudges.Config.AckWait; cfg.Lease > 0 && wait != cfg.Lease {
		found = append(found, is.warning("give all workers the same BOTMESH_LEASE, and this command too",
			"the workers' lease is %v and here it is %v", wait, cfg.Lease))
	}
	switch {
	case asked:
		found = append(found, is.fine("workers ask for them: %d wait, %d are being handled", nudges.NumPending, nudges.NumAckPending))
	case nudges.NumPending > 0:
		found = append(found, is.broken(start, "nobody asks for records now, and %d wait", nudges.NumPending))
	default:
		found = append(found, is.warning(start, "nobody asks for records now; none waits"))
	}
	return found
}

// busy reports whether records were handed out or settled a lease ago or later. Workers
// that have all they can do ask for no more.
func busy(info *jetstream.ConsumerInfo, lease time.Duration) bool {
	for _, at := range []*time.Time{info.Delivered.Last, info.AckFloor.Last} {
		if at != nil && info.TimeStamp.Sub(*at) < lease {
			return true
		}
	}
	return false
}

// nudges is the workers' consumer, nil if there is none, and whether somebody asked it
// for records while it was looked at. After a stream was made anew there is one of
// before too: the last one made is in use.
func nudges(ctx context.Context, stream jetstream.Stream, lease time.Duration) (last *jetstream.ConsumerInfo, asked bool, err error) {
	for range pulls {
		all := stream.ListConsumers(ctx)
		for info := range all.Info() {
			if strings.HasPrefix(info.Name, "nudges-") && (last == nil || !info.Created.Before(last.Created)) {
				last = info
			}
		}
		if err := all.Err(); err != nil {
			return nil, false, err
		}
		if last == nil || last.NumWaiting > 0 || busy(last, lease) {
			return last, last != nil, nil
		}
		select {
		case <-time.After(pullPause):
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
	}
	return last, false, nil
}
