package dispatcher

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/telemetry"
)

// maxSkew is how far the clocks of a replica and of the journal's server may be apart
// for a command that is looked for to be found.
const maxSkew = time.Minute

// setCommands makes what a run asks of other chats an effect of its commit.
func (h *hold) setCommands(ctx context.Context, next *checkpoint.Checkpoint, r botmesh.Record, commands []botmesh.Command) error {
	switch {
	case len(commands) == 0:
		return nil
	case len(commands) > botmesh.MaxCommands:
		return fmt.Errorf("%d commands to other chats in one run, want at most %d", len(commands), botmesh.MaxCommands)
	case r.Hops >= botmesh.MaxHops:
		return fmt.Errorf("a command to another chat after %d that led to it, want at most %d: do two chats answer each other?", r.Hops, botmesh.MaxHops)
	}
	commands = slices.Clone(commands) // and what is in them: they are the bot's
	for i, c := range commands {
		if err := c.Chat.Validate(); err != nil {
			return fmt.Errorf("command to another chat: %w", err)
		}
		if len(c.Sends) == 0 {
			return fmt.Errorf("command to another chat: nothing to send in %s", c.Chat)
		}
		commands[i].Sends = slices.Clone(c.Sends)
		for n, s := range c.Sends {
			if err := s.Validate(); err != nil {
				return fmt.Errorf("command to another chat: %w", err)
			}
			commands[i].Sends[n] = s.InUTF8() // as JSON makes it, but with the spans in their place
		}
	}
	body, err := json.Marshal(commands)
	if err != nil {
		return fmt.Errorf("commands to other chats: %w", err)
	}
	if len(body) > maxEffects {
		return fmt.Errorf("%w: the commands of one record are %d bytes, want at most %d", botmesh.ErrTooLarge, len(body), maxEffects)
	}
	// A chat and an epoch may be too long together for an id.
	sum := sha256.Sum256([]byte(botmesh.LetterID(h.chat, r.Epoch, r.Seq)))
	trace, effects := telemetry.Inject(ctx), effectsOf(next)
	for i, c := range commands {
		id := fmt.Sprintf("command:%s/%d", hex.EncodeToString(sum[:16]), i)
		effects.Commands = append(effects.Commands, checkpoint.Command{ID: id, Hops: r.Hops + 1, Trace: trace, Command: c})
	}
	return nil
}

// effectsOf returns the effects of a commit that is being made.
func effectsOf(next *checkpoint.Checkpoint) *checkpoint.Effects {
	if next.Effects == nil {
		next.Effects = &checkpoint.Effects{At: time.Now()}
	}
	return next.Effects
}

// flushCommands puts the commands of a checkpoint into the journals of their chats. A
// crash in between, or another replica beside this one: they are published again under
// the same ids. The journal knows those for as long as its window is; the commands of
// another replica may be older, so they are looked for first.
func (l *lane) flushCommands(ctx context.Context, c *chatCopy) error {
	e := c.cp.Effects
	if len(e.Commands) > 0 && !c.own && l.aged(e.At) {
		l.d.log.WarnContext(ctx, "commands to other chats are older than journals keep records, taken as flushed", "chat", l.chat, "seq", c.cp.Cursor)
		return nil
	}
	for _, command := range e.Commands {
		there := false
		err := insist(ctx, func() (err error) {
			if !c.own {
				there, err = l.d.cfg.Journal.Holds(ctx, command.Chat, command.ID, e.At.Add(-maxSkew))
			}
			return err
		})
		if err == nil && !there {
			_, err = l.d.cfg.Journal.Publish(ctx, botmesh.Record{
				Type: botmesh.TypeCommand, ID: command.ID, Chat: command.Chat,
				Hops: command.Hops, Sends: command.Sends, Trace: command.Trace,
			})
		}
		if err != nil {
			return chatError("command another chat than", l.chat, err)
		}
	}
	return nil
}
