// Package dispatcher takes a chat's records from the journal to their effects,
// once and in order, whichever replica does it.
//
// A nudge, the header of a record, tells a replica that a chat has work. The
// replica opens a lane for the chat, takes a ticket for it and waits for its
// turn. Holding it, the lane reads the chat's records from the journal after the
// checkpoint's cursor, and for each:
//
//  1. hands it with the chat's state to the [Runner], which decides;
//  2. replaces the checkpoint by compare-and-set: cursor, state and effects in
//     one write. This is the moment the record takes effect;
//  3. flushes the effects: the letter into the outbox, a dead letter into its
//     stream;
//  4. has the letter delivered, from memory, under the same turn;
//  5. acknowledges the nudge.
//
// What a crash at each point leaves:
//
//   - before 2: nothing but what the run kept. The nudge comes again and the
//     record is run again, against that.
//   - in 2, the answer lost: the store reads back whether the write is there.
//   - after 2, before 3 ended: the checkpoint holds its effects. The nudge comes
//     again, equal to the cursor; whoever has it flushes them, with no turn.
//   - after 3, before 4 ended: the letter is in the outbox without a receipt. The
//     nudge comes again and is not acknowledged while a letter has none.
//   - after 4: the nudge comes again and is acknowledged.
//
// Two rules carry this. No compare-and-set of a chat is sent before every effect
// of the revision it replaces is confirmed. And a nudge is acknowledged below
// the cursor at once, equal to it only when the effects are confirmed and every
// letter of the chat is settled, above it never; so one nudge stands for all that
// a chat has left to do.
//
// The turn makes this fast and fair, and nothing rests on it: of two replicas
// that both believe they hold a chat, one wins the compare-and-set, and the
// other drops what it did.
//
// What belongs here: lanes, commits, flushes, acknowledgements, retries of a
// failed record, and their order. What a record means does not: that is the
// Runner's. Which replica should is coord's, how a letter reaches the platform
// the outbox's.
package dispatcher
