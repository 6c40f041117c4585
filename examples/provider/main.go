// Command provider is a bot on a platform that Botmesh has no package of. All that the
// platform takes is in pager.go; here it is wired up in one process, without servers.
//
// In a fleet the same is one line each: ingressmain.Main(pager) is the program that takes
// its webhooks and worker.Main(echo(), pager) the one that answers.
package main

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/ingress"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/httpcall"
	"github.com/botmesh-go/botmesh/worker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	pager := newPager(os.Getenv("PAGER_SECRET"), os.Getenv("PAGER_TOKEN"), os.Getenv("PAGER_API_URL"))
	if pager.secret == "" || pager.token == "" || pager.api == "" {
		log.Fatal("PAGER_SECRET, PAGER_TOKEN and PAGER_API_URL are needed") // anybody could sign with an empty secret
	}
	listener, err := net.Listen("tcp", "127.0.0.1:8080")
	if err == nil {
		err = run(ctx, pager, listener)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func newPager(secret, token, api string) *Pager {
	return &Pager{secret: secret, token: token, api: api, client: httpcall.New(httpcall.Config{Secret: token})}
}

func echo() *bot.Bot {
	return bot.New().Fallback(func(c *bot.Context) error {
		c.Say(c.Text())
		return nil
	})
}

// run takes webhooks at /webhooks/pager until ctx ends, and answers them.
func run(ctx context.Context, p *Pager, l net.Listener) error {
	defer p.client.Close()
	local, err := worker.NewLocal(worker.LocalConfig{Bot: echo(), Senders: []provider.Sender{p}, Receivers: []provider.Receiver{p}})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	server := ingress.NewServer("", local.Handler(), nil)
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return local.Run(ctx) })
	all.Go(func() error {
		<-ctx.Done()
		return server.Shutdown(context.WithoutCancel(ctx))
	})
	all.Go(func() error {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return all.Wait()
}
