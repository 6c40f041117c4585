// Package outbox keeps what a bot has to say until the platform took it.
//
// All sends of one commit are one record of a chat's outbox, a letter, cut into
// parts that each are one call to the platform. A letter is appended behind the
// one that its checkpoint knows of and nowhere else, so that a flush that is
// repeated, by any replica, adds nothing.
//
// The platform can not be fenced, so delivery has a fence of its own: the chat's
// receipt chain, beside its letters in the same stream. Every entry is appended
// by compare-and-set on the one before it, and says up to which part all is
// settled. Only the writer of the chain's last entry may call the platform, and
// only for a while; who died is succeeded by a claim, after that while. So a part
// reaches the platform twice only if a crash, a pause or a lost answer fell
// between a call and its receipt. Such a part is in doubt; it is counted, marked
// in its receipt, and sent again or held, as the provider's [Policy] says.
//
// The usual cost of a letter is one append, one claim and one receipt, and no
// read.
//
// What a crash at each point leaves:
//
//   - before the append: the letter is in the checkpoint, and whoever flushes it
//     appends it.
//   - after the append, before the claim: the next holder of the chat's turn finds
//     that the chain is behind the last letter, and delivers.
//   - after the claim: the next owner waits for [Config].Hold from when it first saw
//     the claim. The part that the dead one may have called is in doubt, and the next
//     one too, which it may have called while the receipt was on its way.
//   - after a free entry, the last receipt of a backlog or a part that is put off:
//     nothing. The next owner claims at once.
//
// A claim, a receipt or a letter whose answer was lost is settled by reading, and
// while it is not there by writing the same bytes in the same place again.
//
// What belongs here: letters, the chain, calls, retries, receipts. When a letter
// is written belongs to the dispatcher, what a platform understands to its
// provider.
package outbox
