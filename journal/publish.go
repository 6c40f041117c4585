package journal

import (
	"context"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/telemetry"
)

// parallelPublishes bounds how many chats PublishAll serves at once.
const parallelPublishes = 64

// Publisher journals records. It looks at nothing but the answers to its own
// publishes, so that a process that may only publish can have one. Safe for
// concurrent use.
type Publisher struct {
	bot   string
	inbox jet.Stream
	log   *slog.Logger
}

// Placed says where a record stands.
type Placed struct {
	Seq uint64
	// Duplicate says that the record was there before: journaled by another
	// process, by an earlier call, or by a try of this call whose answer got lost.
	Duplicate bool
}

// NewPublisher makes a Publisher of a configuration's Bot, Inbox and Logger. It
// makes no call.
func NewPublisher(cfg Config) (*Publisher, error) {
	if err := cfg.validate(false); err != nil {
		return nil, err
	}
	return &Publisher{bot: cfg.Bot, inbox: cfg.Inbox, log: cfg.logger()}, nil
}

// Publish journals one record. A nil error means that the stream holds it, once,
// whatever happens from now on.
//
// A try that was refused or whose answer got lost is repeated until ctx ends, under
// the same id, which the stream recognises within its duplicate window. The trace
// context stored is the one of ctx, else the record's.
//
// Errors: [ErrInvalid] and botmesh.ErrTooLarge (never will be), botmesh.ErrRefused
// (not journaled), botmesh.ErrUnknown (may be journaled: repeat the call, it is
// then a duplicate).
func (p *Publisher) Publish(ctx context.Context, r botmesh.Record) (Placed, error) {
	m, err := encode(p.bot, r)
	if err != nil {
		return Placed{}, err
	}
	return p.store(ctx, r, m)
}

// store publishes an encoded record within a span.
func (p *Publisher) store(ctx context.Context, r botmesh.Record, m jet.Msg) (Placed, error) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = telemetry.Extract(ctx, r.Trace)
	}
	ctx, span := telemetry.Tracer().Start(ctx, telemetry.SpanJournal, trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(telemetry.KeyBot.String(p.bot), telemetry.KeyProvider.String(r.Chat.Provider),
			telemetry.KeyChat.String(r.Chat.String()), telemetry.KeyType.String(string(r.Type))))
	defer span.End()
	setTrace(m.Header, telemetry.Inject(ctx))
	var placed Placed
	err := jet.Settle(ctx, func(ctx context.Context) error {
		ack, err := p.inbox.Publish(ctx, jet.Publish{Msg: m})
		placed = Placed(ack)
		return err
	})
	if err != nil {
		span.SetStatus(codes.Error, "not journaled")
		return Placed{}, fmt.Errorf("journal: publish to %s: %w", r.Chat.Key(), err)
	}
	span.SetAttributes(telemetry.KeySeq.Int64(int64(placed.Seq)))
	return placed, nil
}

// PublishAll journals the records of one webhook and returns their places in the
// same order. Records of one chat go one after the other, each sent only when the
// one before it is confirmed; chats go in parallel.
//
// An error means that some may not be journaled. The same call again journals the
// missing ones and doubles none. Errors are as of [Publisher.Publish]; an invalid
// record refuses all before any is sent.
func (p *Publisher) PublishAll(ctx context.Context, records []botmesh.Record) ([]Placed, error) {
	messages := make([]jet.Msg, len(records))
	chats := map[botmesh.ChatKey][]int{}
	for i, r := range records {
		var err error
		if messages[i], err = encode(p.bot, r); err != nil {
			return nil, fmt.Errorf("record %d of %d: %w", i+1, len(records), err)
		}
		chats[r.Chat] = append(chats[r.Chat], i)
	}
	placed := make([]Placed, len(records))
	var group errgroup.Group // not of ctx: one chat's failure stops no other chat
	group.SetLimit(parallelPublishes)
	for _, of := range chats {
		group.Go(func() error {
			for _, i := range of {
				var err error
				if placed[i], err = p.store(ctx, records[i], messages[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return placed, nil
}
