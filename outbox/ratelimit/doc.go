// Package ratelimit keeps a bot's calls within what its platforms allow.
//
// There are buckets of tokens for each chat of a platform, for each account and for
// all calls of the bot. A call takes one of each, or none. [Shared] keeps them in
// Redis, for all replicas, [Local] in this process; Shared falls back to Local ones
// while Redis is away, so that each replica keeps the limits by itself then.
//
// Who comes in vain is told when to come again: one after the other, as fast as the
// account allows, so that ten thousand chats that wait do not all ask again for
// each call that becomes free. Those who come back go before those who come anew.
//
// A bucket that nobody knows holds one token, not all of them: who has lost Redis'
// memory, or has just started, does not know what was sent a moment ago.
package ratelimit
