// Package jet is the little of JetStream that Botmesh stands on, with honest
// answers: every write is done, refused, in conflict or unknown, and a read says
// whether the stream's leader or any replica answered.
//
// What the server's error codes say of a read or a write is known here alone. The
// rooms that keep something in a stream (journal, checkpoint/natsstore, outbox)
// are written on [Stream], so that they run unchanged on a server and on the
// memory reference ([NewMemory]).
//
// What belongs here: calls of one stream, their answers, and the connection's
// health. What a subject or a record means does not, nor do making and changing
// streams.
package jet

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// Msg is a message to publish.
type Msg struct {
	Subject string
	Header  nats.Header
	Data    []byte
}

// Stored is a message of a stream.
type Stored struct {
	Msg
	Seq  uint64
	Time time.Time // the server's
}

// Ack is the server's confirmation of a publish.
type Ack struct {
	Seq uint64
	// Duplicate says that a message of this Nats-Msg-Id was stored before, at Seq.
	Duplicate bool
}

// Publish is a publish with its conditions.
type Publish struct {
	Msg
	// Expect, if not nil, is the sequence that the last message of the subject
	// must have, zero for none.
	Expect *uint64
	// TTL, if not zero, removes the message after that time (at least a second).
	TTL time.Duration
	// Schedule, if not nil, has the stream itself publish the message again, later.
	Schedule *Schedule
}

// Schedule is when and where a stream publishes a message again. Until then it
// stands under its own subject, whatever the stream's age limit; it is then
// removed. A second one of a subject replaces the first.
//
// It is published at or soon after At, at once if that has passed, with the
// message's headers and data and without a message id. One that is made again after
// it fired fires again.
type Schedule struct {
	At     time.Time
	Target string // a subject of the same stream
}

// Info is what a stream is, as its leader says.
type Info struct {
	FirstSeq uint64
	LastSeq  uint64
	Messages uint64
	Metadata map[string]string
}

// Stream is one stream. Safe for concurrent use.
//
// A publish fails with botmesh.ErrConflict (what it expected is not there),
// botmesh.ErrRefused (not taken, nothing written; botmesh.ErrTooLarge if it never
// will be) or botmesh.ErrUnknown (timeout, lost connection, ended context). A
// read fails with botmesh.ErrNotFound, with botmesh.ErrRefused if nobody could
// answer, or with the context's error.
type Stream interface {
	Name() string

	// Publish stores one message and waits for the server's word.
	//
	// A conflict does not prove that another writer won: a single server answers
	// the repetition of a successful write so, and a cluster now and then a
	// correct one, which may be there all the same: while leaders change, one that
	// leads no more may answer first. Read, then decide.
	Publish(ctx context.Context, p Publish) (Ack, error)

	// Purge removes all messages of a subject, of which there may be none. It fails
	// as a publish does.
	Purge(ctx context.Context, subject string) error

	// Last returns the last message of a subject, from the stream's leader.
	Last(ctx context.Context, subject string) (Stored, error)
	// Get returns the message at a sequence, from the stream's leader.
	Get(ctx context.Context, seq uint64) (Stored, error)
	// Next returns the first message at or after from on a subject (wildcards
	// allowed), from the stream's leader.
	Next(ctx context.Context, subject string, from uint64) (Stored, error)
	// Range returns up to limit messages of a subject at or after from, in order.
	// Where the stream allows direct reads any replica may answer, one that lags
	// included: the messages are then a true prefix of what there is. An empty
	// answer is not an error, and proves nothing.
	Range(ctx context.Context, subject string, from uint64, limit int) ([]Stored, error)

	// Info asks the leader.
	Info(ctx context.Context) (Info, error)

	// Consumer returns the durable pull consumer of that name, made if absent, or
	// found as it is (ConsumerConfig.Look).
	Consumer(ctx context.Context, cfg ConsumerConfig) (Consumer, error)
}

// ConsumerConfig configures a durable, explicitly acknowledged pull consumer
// with no limit on pending acknowledgements and none on deliveries.
type ConsumerConfig struct {
	Name    string
	Subject string // filter
	// HeadersOnly delivers no bodies.
	HeadersOnly bool
	AckWait     time.Duration
	// StartSeq is where a consumer that does not exist yet begins, zero for the
	// first message.
	StartSeq uint64
	// Metadata are entries that the stream's own must have for the consumer to be
	// made on it. A stream that was deleted and made again under the same name is
	// so told from the one before, and gets no consumer of it.
	Metadata map[string]string
	// Look only finds a consumer, to ask for its Floor and what is Pending: it is not
	// made, nor changed to fit the rest of the configuration. Without one the error is
	// botmesh.ErrNotFound.
	Look bool
}

// Consumer hands out the messages of a stream, each again until it is acknowledged.
type Consumer interface {
	// Pull asks for up to limit messages and calls each for every one as it
	// comes, until limit came, wait passed, or ctx ended; none of these is an
	// error. What comes after ctx ended is given back. It returns an error
	// (botmesh.ErrRefused) if the consumer can not be reached; a consumer that was
	// deleted is made again at its last known acknowledgement floor, never at the
	// end.
	Pull(ctx context.Context, limit int, wait time.Duration, each func(Delivery)) error
	// Floor is the highest sequence up to which all is acknowledged, as last known.
	Floor(ctx context.Context) (uint64, error)
	// Pending counts what was not delivered yet and what was delivered but not
	// acknowledged.
	Pending(ctx context.Context) (waiting, unacknowledged uint64, err error)
}

// Delivery is one message handed out by a consumer. Its marks are best effort:
// nothing may rest on one having arrived.
type Delivery struct {
	Stored
	// Delivered counts the deliveries of this message, this one included.
	Delivered uint64
	// Ack settles the message. Nak gives it back, to come again after a delay.
	// Progress restarts the acknowledgement wait. A late Ack of an old delivery
	// settles the message all the same.
	Ack      func() error
	Nak      func(after time.Duration) error
	Progress func() error
}
