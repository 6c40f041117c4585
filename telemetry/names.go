package telemetry

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Span names: the operation, then the destination without the chat in it.
const (
	SpanWebhook    = "POST /webhooks/{provider}"
	SpanReceive    = "receive session"
	SpanJournal    = "send bot.in"
	SpanTurn       = "process bot.in"
	SpanCheckpoint = "commit checkpoint"
	SpanOutbox     = "send bot.out"
	SpanDeliver    = "deliver bot.out"
	SpanProvider   = "call provider"
)

// Attribute keys. A chat is an attribute of spans and logs, never of a metric.
const (
	KeyBot      = attribute.Key("bot.id")
	KeyProvider = attribute.Key("bot.provider")
	KeyChat     = attribute.Key("bot.chat")
	KeyType     = attribute.Key("bot.record.type")
	KeySeq      = attribute.Key("bot.record.seq")
	KeyFence    = attribute.Key("bot.lease.fence")
	KeyRevision = attribute.Key("bot.checkpoint.revision")
	KeyTry      = attribute.Key("bot.try")
	KeyReason   = attribute.Key("reason")
	KeyOutcome  = attribute.Key("outcome")
	KeyKind     = attribute.Key("kind")
	KeyFrom     = attribute.Key("bot.from")
	KeyFlow     = attribute.Key("bot.flow")
	KeyLink     = attribute.Key("bot.link")
)

var meter = otel.Meter(Scope)

// Metrics. Each is a word of dashboards and alerts: renaming one is a breaking change.
var (
	IngressMessages = counter("bot.ingress.messages", "What platforms sent, by outcome: accepted, duplicate, unauthorized, rejected, unavailable.")
	IngressDuration = seconds("bot.ingress.ack.duration", "Time from a webhook's arrival to its answer.")
	Spooled         = updown("bot.ingress.spooled", "Messages that an ingress keeps on its disk until the journal takes them.")

	Leaders       = updown("bot.leader", "Sessions that this replica leads.")
	LeaderChanges = counter("bot.leader.changes", "Changes of who holds a session, by reason: elected, shared, stopped, down, taken, or that of a lost lease.")
	SessionsOpen  = updown("bot.sessions.open", "Sessions that this replica holds, that the platform answers and that are stored.")

	Turns         = counter("bot.turns", "Runs of records, by outcome: applied, ignored, failed, interrupted, lost.")
	TurnWait      = seconds("bot.turn.wait", "Time from a ticket to its turn.")
	TurnHold      = seconds("bot.turn.hold", "Time from a turn to its release or loss.")
	BlindTurns    = counter("bot.turns.blind", "Turns taken without asking the coordinator, which is away.")
	TurnDuration  = seconds("bot.turn.duration", "Time of one run of one record.")
	TurnRetries   = counter("bot.turn.retries", "Failed runs that will be tried again.")
	ReplyLatency  = seconds("bot.reply.latency", "Time from the journaling of a turn's last record to the receipt of what it said.")
	LeasesLost    = counter("bot.lease.lost", "Turns lost and runs cut off, by reason: expired, stalled, superseded, settled, unavailable.")
	Handovers     = counter("bot.handovers", "Conversations that came from another process, by outcome: resumed, forwarded, notified, restarted, custom, dropped.")
	Calls         = counter("bot.chats.called", "Chats that were left to the replica which has their conversation in memory.")
	Conflicts     = counter("bot.checkpoint.conflicts", "Checkpoint writes that were not made, by reason: superseded (another replica wrote first), lease_lost.")
	DuplicatesIn  = counter("bot.records.duplicate", "Records without effect since their id was seen before.")
	DeadLetters   = counter("bot.dlq.messages", "Dead letters, by kind: record, send.")
	DeadDepth     = gauge("bot.dlq.depth", "Dead letters that are kept, the same of every worker.")
	DeadAge       = gauge("bot.dlq.oldest.age", "Seconds since the oldest of them was set aside, 0 without any.")
	WaitingAge    = gauge("bot.waiting.oldest.age", "Seconds since the oldest record that is not settled was journaled, but for paused chats, 0 without any, the same of every worker.")
	Deaths        = counter("bot.turn.deaths", "Records whose run ended with its process.")
	SlotsInUse    = updown("bot.slots.used", "Run slots in use.")
	LanesOpen     = updown("bot.lanes", "Chats this replica has work for.")
	ChatsPaused   = gauge("bot.chats.paused", "Chats that are paused or on hold, the same of every worker.")
	ChatsParked   = updown("bot.chats.parked", "Chats that this replica has met and only another build can serve.")
	Deliveries    = counter("bot.outbox.deliveries", "Calls to a provider, by outcome: delivered, retry, permanent, unknown; blocked were not made.")
	InDoubt       = counter("bot.outbox.in_doubt", "Parts whose earlier call may have reached the provider.")
	HeldParts     = gauge("bot.outbox.held", "Parts that are held since they may have reached the provider, the same of every worker.")
	HeldAge       = gauge("bot.outbox.held.oldest.age", "Seconds since the oldest of them was held, 0 without any, the same of every worker.")
	SendDuration  = seconds("bot.outbox.call.duration", "Time of one call to a provider.")
	OutboxLatency = seconds("bot.outbox.latency", "Time from a letter's commit to the platform's answer to its last part.")
	PutOff        = counter("bot.outbox.put_off", "Parts put off, by reason: retry (called in vain), wait (over the limits, or the account is down).")
	Breakers      = counter("bot.outbox.breaker", "Accounts that this replica stopped calling since their calls fail (outcome open) and that came back (closed).")
	OutboxSurplus = counter("bot.outbox.surplus", "Letters found where the checkpoint did not expect one.")
)

func counter(name, help string) metric.Int64Counter {
	c, err := meter.Int64Counter(name, metric.WithDescription(help))
	if err != nil {
		panic(err) // a name in this file is wrong
	}
	return c
}

func gauge(name, help string) metric.Int64Gauge {
	g, err := meter.Int64Gauge(name, metric.WithDescription(help))
	if err != nil {
		panic(err) // a name in this file is wrong
	}
	return g
}

func updown(name, help string) metric.Int64UpDownCounter {
	c, err := meter.Int64UpDownCounter(name, metric.WithDescription(help))
	if err != nil {
		panic(err) // a name in this file is wrong
	}
	return c
}

func seconds(name, help string) metric.Float64Histogram {
	h, err := meter.Float64Histogram(name, metric.WithDescription(help), metric.WithUnit("s"),
		metric.WithExplicitBucketBoundaries(.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120))
	if err != nil {
		panic(err) // a name in this file is wrong
	}
	return h
}
