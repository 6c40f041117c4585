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
// What belongs here: letters, the chain, calls, retries, receipts. When a letter
// is written belongs to the dispatcher, what a platform understands to its
// provider.
package outbox
