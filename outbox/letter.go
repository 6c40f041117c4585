package outbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/telemetry"
)

// headerID names the letter in its message.
const headerID = "Bot-Id"

// noSender says that this process can not send for a provider.
func noSender(provider string) error {
	return fmt.Errorf("this worker has no sender for provider %q: set the token that it sends with (for the web chat its secret), or give worker.Main a sender", provider)
}

// Letter makes a letter of sends: each is cut into parts by the chat's provider,
// and every part gets its id. A part of the n-th send is <letter>/<n>.<part>; of
// the one send of an eager letter (its id ends in /e<n>) it is <letter>.<part>.
//
// Of a send that replaces or edits a message its first part does; of one that grows only the first
// part is sent.
//
// It does no I/O, and the same arguments make the same letter. It fails if there
// is no sender for the chat's provider, nothing to send, or a file that can not be sent;
// see [provider.Split].
func (o *Outbox) Letter(id string, chat botmesh.ChatKey, sends []botmesh.Send, at time.Time, trace map[string]string) (botmesh.Letter, error) {
	s, ok := o.senders[chat.Provider]
	if !ok {
		return botmesh.Letter{}, fmt.Errorf("outbox: letter %s: %w", id, noSender(chat.Provider))
	}
	l := botmesh.Letter{ID: id, Chat: chat, At: at.UTC(), Trace: trace}
	eager := isEager(id)
	if eager && len(sends) != 1 {
		return botmesh.Letter{}, fmt.Errorf("outbox: eager letter %s has %d sends, want one", id, len(sends))
	}
	for n, send := range sends {
		of := id
		if !eager {
			of += "/" + strconv.Itoa(n)
		}
		parts, err := provider.Split(s, send)
		if err != nil {
			return botmesh.Letter{}, fmt.Errorf("outbox: letter %s: %w", id, err)
		}
		grows := eager && send.Grows && len(parts) > 0 && parts[0].Media == nil
		if grows {
			parts = parts[:1]
		}
		for p, part := range parts {
			part.Grows, part.Replaces, part.Edits = grows, 0, ""
			if p == 0 && part.Media == nil {
				part.Edits = send.Edits
			}
			if p == 0 && !eager {
				part.Replaces = send.Replaces
			}
			l.Parts = append(l.Parts, botmesh.Part{ID: of + "." + strconv.Itoa(p), Send: part})
		}
	}
	if len(l.Parts) == 0 {
		return botmesh.Letter{}, fmt.Errorf("outbox: letter %s has nothing to send", id)
	}
	return l, nil
}

// isEager reports whether a letter's id ends in /e and a number.
func isEager(id string) bool {
	_, n, ok := cutLast(id, "/e")
	if !ok {
		return false
	}
	_, err := strconv.ParseUint(n, 10, 31)
	return err == nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// Append makes one try to store l as its chat's next letter after the one at
// sequence out, zero for the first, and returns its sequence.
//
// It has no message id: of two appends that expect the same out, one is stored,
// now or in a year. After botmesh.ErrConflict (the chat's last letter is another)
// or botmesh.ErrUnknown the caller asks [Outbox.Last] whose letter is there, and
// reads its checkpoint only after that. After botmesh.ErrRefused nothing was
// written.
func (o *Outbox) Append(ctx context.Context, l botmesh.Letter, out uint64) (uint64, error) {
	if len(l.Parts) == 0 {
		return 0, fmt.Errorf("outbox: append %s: the letter has no parts", l.ID)
	}
	m, err := encodeLetter(subjectOf(familyLetter, o.cfg.Bot, l.Chat), l)
	if err != nil {
		return 0, err
	}
	if !trace.SpanContextFromContext(ctx).IsValid() { // another replica's letter
		ctx = telemetry.Extract(ctx, l.Trace)
	}
	ctx, span := telemetry.Tracer().Start(ctx, telemetry.SpanOutbox, trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(telemetry.KeyBot.String(o.cfg.Bot), telemetry.KeyChat.String(l.Chat.String())))
	defer span.End()
	ack, err := o.stream.Publish(ctx, jet.Publish{Msg: m, Expect: &out})
	if err != nil {
		span.SetStatus(codes.Error, "")
		span.RecordError(err)
		return 0, fmt.Errorf("outbox: append %s after %d: %w", l.ID, out, err)
	}
	o.appended(l.Chat, ack.Seq, out)
	return ack.Seq, nil
}

// Tail is a chat's last letter. The zero Tail says that it has none.
type Tail struct {
	Seq uint64
	ID  string
}

// Last returns the last letter of a chat, from the stream's leader. Errors:
// botmesh.ErrRefused if nobody could answer, or the context's.
func (o *Outbox) Last(ctx context.Context, chat botmesh.ChatKey) (Tail, error) {
	m, err := o.stream.Last(ctx, subjectOf(familyLetter, o.cfg.Bot, chat))
	switch {
	case errors.Is(err, botmesh.ErrNotFound):
		return Tail{}, nil
	case err != nil:
		return Tail{}, fmt.Errorf("outbox: last letter of %s: %w", chat.Key(), err)
	}
	return Tail{Seq: m.Seq, ID: m.Header.Get(headerID)}, nil
}
