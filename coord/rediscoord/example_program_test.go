package rediscoord_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/coord/rediscoord"
)

// Order is the work: some replicas take orders, and of one customer they are to be
// handled one at a time.
type Order struct {
	Customer string
	Amount   int
}

func Example_program() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	orders, bank := make(chan Order), &Bank{}
	if err := serve(ctx, os.Getenv("REDIS_URL"), orders, bank); err != nil {
		log.Fatal(err)
	}
}

// serve handles orders until ctx ends, and gives back what it holds.
func serve(ctx context.Context, redis string, orders <-chan Order, bank *Bank) error {
	client, err := rediscoord.Dial(ctx, redis)
	if err != nil {
		return err // a wrong address or password; a Redis that is away is waited for
	}
	defer client.Close()
	c, err := rediscoord.New(rediscoord.Config{
		Client: client, Prefix: "shop", Lease: 10 * time.Second, TurnWait: time.Minute, Logger: slog.Default(),
	})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			log.Print("held until its lease ends: ", err)
		}
	}()

	var work sync.WaitGroup
	defer work.Wait() // before Close, which would end the turns
	work.Go(func() { audit(ctx, c, bank) })
	for {
		select {
		case o := <-orders:
			work.Go(func() {
				if err := book(ctx, c, o, bank); err != nil {
					log.Print("not done, to be put back: ", err)
				}
			})
		case <-ctx.Done():
			return nil
		}
	}
}

// book waits for the customer's turn, and does the work under it.
func book(ctx context.Context, c coord.Coordinator, o Order, bank *Bank) error {
	turn, err := c.Take(ctx, coord.Request{Key: "customer." + o.Customer})
	if err != nil {
		return err // nothing was done
	}
	// Not ctx: a turn that is not given back holds up its customer for a lease.
	defer func() {
		if err := turn.Release(context.WithoutCancel(ctx), 0); err != nil && !errors.Is(err, botmesh.ErrLeaseLost) {
			log.Print("given back in the background: ", err)
		}
	}()

	balance, err := bank.Balance(turn.Context(), o.Customer)
	if err != nil {
		return err
	}
	if turn.Context().Err() != nil { // before each effect: the turn may be another's by now
		return context.Cause(turn.Context())
	}
	return bank.Set(turn.Context(), o.Customer, balance+o.Amount, turn.Fence())
}

// audit runs on one replica at a time, and on another when that one is gone.
func audit(ctx context.Context, c coord.Elector, bank *Bank) {
	for ctx.Err() == nil {
		lead, err := c.Campaign(ctx, "audit") // waits on a standby
		if err != nil {
			return
		}
		for lead.Context().Err() == nil && ctx.Err() == nil {
			log.Print("accounts: ", bank.Accounts())
			select {
			case <-time.After(time.Minute):
			case <-lead.Context().Done():
			case <-ctx.Done():
			}
		}
		_ = lead.StepDown(context.WithoutCancel(ctx), 0) // the next one leads at once
	}
}

// Bank is where the work lands. What must be right rests on its fence, not on Redis.
// A real one is a table:
//
//	UPDATE accounts SET balance = $1, fence = $2 WHERE customer = $3 AND fence <= $2
type Bank struct {
	mu   sync.Mutex
	rows map[string]account
}

type account struct {
	balance int
	fence   uint64
}

// Balance reads an account.
func (b *Bank) Balance(_ context.Context, customer string) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rows[customer].balance, nil
}

// Set refuses who was overtaken: a higher fence has written since.
func (b *Bank) Set(_ context.Context, customer string, balance int, fence uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rows[customer].fence > fence {
		return fmt.Errorf("account of %s: fence %d was overtaken", customer, fence)
	}
	if b.rows == nil {
		b.rows = map[string]account{}
	}
	b.rows[customer] = account{balance, fence}
	return nil
}

// Accounts counts them.
func (b *Bank) Accounts() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.rows)
}
