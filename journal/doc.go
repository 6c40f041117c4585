// Package journal keeps what happened to a bot: every inbound event of every
// chat, in one order per chat, until it is older than the retention.
//
// A record is journaled when [Publisher.Publish] returned without error: the
// stream confirmed it. Two records of one platform id are one record, whichever
// process journals them, within the stream's duplicate window; past it, the ids
// that a chat's checkpoint remembers catch the repetition.
//
// A chat's records are read from its subject ([Journal.Read]), in the journal's
// order. Deliveries ([Journal.Pull]) only say where to look: they may come twice,
// late or in another order. What looks absent is absent only when proven
// ([Journal.Prove]).
//
// A journal has an epoch, random, written into the stream's metadata when the
// stream is made. Sequences mean something within one epoch only. A stream that
// is recreated under a running process ends its pulls with [ErrEpochChanged].
//
// What belongs here: subjects and headers, the envelope, publishing, mailbox
// reads, nudges, listing and dead letters. When a record counts as applied does
// not: that is the dispatcher's.
package journal
