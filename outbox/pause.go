package outbox

import (
	"errors"

	"github.com/botmesh-go/botmesh"
)

// ErrPaused says that a chat's letters wait since nothing is to be sent to it now.
var ErrPaused = errors.New("outbox: nothing is sent to the chat while it is paused")

func (o *Outbox) paused(chat botmesh.ChatKey) bool { return o.cfg.Paused != nil && o.cfg.Paused(chat) }
