package probe

import (
	"context"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// Stream watches a stream of a bot.
func (p *Probe) Stream(s jet.Stream) jet.Stream { return &stream{Stream: s, p: p} }

type stream struct {
	jet.Stream
	p *Probe
}

// Publish notes a write and its answer.
func (s *stream) Publish(ctx context.Context, m jet.Publish) (jet.Ack, error) {
	e, point := s.p.write(m)
	if e.Kind == "" {
		return s.Stream.Publish(ctx, m)
	}
	s.p.at(point+before, e.Chat)
	call := s.p.log.Begin(e)
	ack, err := s.Stream.Publish(ctx, m)
	done := ended(e, err)
	done.Seq, done.Duplicate = ack.Seq, ack.Duplicate
	s.p.log.End(call, done)
	if err == nil {
		s.p.wrote(e, m)
		s.p.at(point+after, e.Chat)
	}
	return ack, err
}

// Purge notes that a timer is taken back.
func (s *stream) Purge(ctx context.Context, subject string) error {
	key := chatOf(subject, timers)
	if key == "" {
		return s.Stream.Purge(ctx, subject)
	}
	e := history.Event{Kind: history.Disarm}
	e.Chat, e.ID = endOf(key)
	s.p.at("disarm"+before, e.Chat)
	call := s.p.log.Begin(e)
	err := s.Stream.Purge(ctx, subject)
	s.p.log.End(call, ended(e, err))
	if err == nil {
		s.p.at("disarm"+after, e.Chat)
	}
	return err
}

// Last notes a read of a checkpoint.
func (s *stream) Last(ctx context.Context, subject string) (jet.Stored, error) {
	key := chatOf(subject, checkpoints)
	if key == "" {
		return s.Stream.Last(ctx, subject)
	}
	e := history.Event{Kind: history.Load, Chat: key}
	call := s.p.log.Begin(e)
	m, err := s.Stream.Last(ctx, subject)
	done := ended(e, err)
	done.Seq, done.ID = m.Seq, m.Header.Get(nonceHeader)
	s.p.log.End(call, done)
	if done.Outcome == history.Done || done.Outcome == history.NotFound {
		s.p.learn(key, m.Data)
		s.p.at("load"+after, key)
	}
	return m, err
}

// Range notes a read of a chat's records.
func (s *stream) Range(ctx context.Context, subject string, from uint64, limit int) ([]jet.Stored, error) {
	key := chatOf(subject, records)
	if key == "" {
		return s.Stream.Range(ctx, subject, from, limit)
	}
	e := history.Event{Kind: history.Mailbox, Chat: key, Seq: from}
	call := s.p.log.Begin(e)
	found, err := s.Stream.Range(ctx, subject, from, limit)
	done := ended(e, err)
	done.Count = len(found)
	s.p.log.End(call, done)
	if err == nil {
		s.p.at("read"+after, key)
	}
	return found, err
}

// Consumer watches what becomes of what a consumer hands out.
func (s *stream) Consumer(ctx context.Context, cfg jet.ConsumerConfig) (jet.Consumer, error) {
	c, err := s.Stream.Consumer(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &consumer{c, s.p}, nil
}

type consumer struct {
	jet.Consumer
	p *Probe
}

// Pull notes the acknowledgements of what comes.
func (c *consumer) Pull(ctx context.Context, limit int, wait time.Duration, each func(jet.Delivery)) error {
	return c.Consumer.Pull(ctx, limit, wait, func(d jet.Delivery) {
		c.p.at("nudge"+after, chatOf(d.Subject, records))
		each(c.p.delivery(d))
	})
}

func (p *Probe) delivery(d jet.Delivery) jet.Delivery {
	ack, nak, key := d.Ack, d.Nak, chatOf(d.Subject, records)
	d.Ack = func() error {
		p.at("ack"+before, key)
		e := history.Event{Kind: history.Ack, Chat: key, Seq: d.Seq}
		call := p.log.Begin(e)
		err := ack()
		p.log.End(call, ended(e, err))
		p.at("ack"+after, key)
		return err
	}
	d.Nak = func(after time.Duration) error {
		p.log.Note(history.Event{Kind: history.Nak, Chat: key, Seq: d.Seq, Took: after})
		return nak(after)
	}
	return d
}

// The families of a bot's subjects.
const (
	records     = "bot.in."
	timers      = "bot.timer."
	letters     = "bot.out."
	entries     = "bot.rcpt."
	deadLetters = "bot.dead."
	checkpoints = "$KV.BOT_"
)

// chatOf is the key of the chat that a subject of a family belongs to, empty if it
// is of another family or of no chat.
func chatOf(subject, family string) string {
	rest, ok := strings.CutPrefix(subject, family)
	_, key, _ := strings.Cut(rest, ".") // after the bot, or the bucket of its name
	if !ok || !strings.Contains(key, ".") || strings.ContainsAny(key, "*>") {
		return ""
	}
	return key
}
