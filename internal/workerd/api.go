package workerd

import (
	"net/http"

	"github.com/botmesh-go/botmesh/admin"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/journal"
)

// newAPI is what is served below /v1, nil without a token.
func (w *Worker) newAPI() (http.Handler, error) {
	s := w.cfg.Settings
	if !s.AdminToken.IsSet() {
		return nil, nil
	}
	publisher, err := journal.NewPublisher(journal.Config{Bot: s.Bot, Inbox: w.stream(journal.InboxStream(s.Bot)), Logger: w.cfg.Log})
	if err != nil {
		return nil, config.Wrong(err)
	}
	api, err := admin.New(admin.Config{
		Token: s.AdminToken.Reveal(), Journal: publisher, Providers: w.senders.ids(), Rooms: w.opened, Servers: servers{w}, Logger: w.cfg.Log,
	})
	if err != nil {
		return nil, config.Wrong(err)
	}
	return api, nil
}
