package bot

import (
	"time"

	"github.com/botmesh-go/botmesh"
)

// HandlerOption sets something of one handler.
type HandlerOption func(*handlerOptions)

type handlerOptions struct {
	settle time.Duration
	set    bool
}

// Settle bounds the runs of a handler in place of the worker's setting (BOTMESH_SETTLE),
// from their beginning and with the bot's hooks. d is above zero and at most
// [botmesh.MaxSettle]. [flow.Settle] says what becomes of a run that takes longer.
//
//	b.Command("/ask", ask, bot.Settle(3*time.Minute))
func Settle(d time.Duration) HandlerOption {
	return func(o *handlerOptions) { o.settle, o.set = d, true }
}

// with is a handler with its options; whose is how it is called where they are wrong.
func (b *Bot) with(whose string, handler Handler, opts []HandlerOption) Handler {
	var o handlerOptions
	for _, opt := range opts {
		opt(&o)
	}
	if !o.set || handler == nil {
		return handler
	}
	if o.settle <= 0 || o.settle > botmesh.MaxSettle {
		b.fault("%s may take %v, want a time above zero and at most %v", whose, o.settle, botmesh.MaxSettle)
	}
	return func(c *Context) error {
		c.Settle(o.settle)
		return handler(c)
	}
}
