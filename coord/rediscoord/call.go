package rediscoord

import (
	"context"
	"fmt"

	"github.com/botmesh-go/botmesh/coord"
)

// Call implements [coord.Caller], with one PUBLISH on the channel of the incarnation.
func (c *Coordinator) Call(ctx context.Context, incarnation, message string) error {
	if err := coord.CheckCall(message); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.wires.timeout)
	defer cancel()
	if err := c.cfg.Client.Publish(ctx, c.names.wake(incarnation), "- called "+message).Err(); err != nil {
		return fmt.Errorf("rediscoord: calling %s: %w", incarnation, unread(err))
	}
	return nil
}

// Heed implements [coord.Caller].
func (c *Coordinator) Heed(hear func(message string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hear = hear
}
