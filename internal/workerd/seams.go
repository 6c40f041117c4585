package workerd

import (
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/provider"
)

// Seams put something between a worker and what it talks to, so that tests can
// watch and break it. Each takes what the worker would use and returns what it
// uses instead; nil changes nothing.
type Seams struct {
	Stream      func(jet.Stream) jet.Stream
	Coordinator func(coord.Coordinator) coord.Coordinator
	Sender      func(provider.Sender) provider.Sender
}

func through[T any](seam func(T) T, v T) T {
	if seam == nil {
		return v
	}
	return seam(v)
}

// stream is a stream of the bot, as the rooms get it.
func (w *Worker) stream(name string) jet.Stream {
	return through(w.cfg.Seams.Stream, w.conn.Stream(name))
}
