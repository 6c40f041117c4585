// Package rediscoord coordinates the replicas of a fleet through Redis, one server,
// a master that Sentinels know, or a cluster: turns, leaders and locks as package
// coord describes them.
//
// Redis may be slow, away, emptied or restarted from old data at any moment:
// work waits, a turn may be granted twice, and all of it heals within a lease.
// What a turn does is fenced again where it lands, so nothing is lost or doubled.
//
// # Names in Redis
//
//	<prefix>:{<key>}:turn           hash: one key's holder, line and fence (lua/line.lua)
//	<prefix>:{<name>}:lead          the same for a leader
//	<prefix>:{<key>}:lock           hash: a lock's holder and fence (lua/lock.lua)
//	<prefix>:alive:<incarnation>    heartbeat, lasts half a lease
//	<prefix>:{<incarnation>/<n>}:door  a lock to see whether Redis answers, lasts a lease
//	<prefix>:layout                 version of these names, against mixing
//	<prefix>:wake:<incarnation>     pub/sub channel: grants, passed tickets, echoes
//
// A key's names share one hash tag, so that every script touches one slot of a
// cluster. A handled message costs two script calls: one takes the turn, one
// releases it and wakes the next. Time is Redis' own in the scripts, and this
// process' own in [coord.Turn]'s context; the two are never compared.
//
// What belongs here: the coordinator, its scripts, and how a client must be
// configured for it ([Dial]). What a turn is used for does not.
package rediscoord
