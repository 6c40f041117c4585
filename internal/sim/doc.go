// Package sim plays the whole of a bot's engine room in one process, under a
// scheduler that decides what happens next: several replicas of journal,
// dispatcher, checkpoints, outbox and coordinator as they are shipped, on streams
// in memory, in virtual time.
//
// Every call that a replica makes to a stream, the coordinator or the platform
// waits until the scheduler lets it go. It draws, from a seed, which one is next and
// what becomes of it: done, refused, done without an answer, done after others, never
// done; and when a replica dies, freezes past its lease or drains, when the
// coordinator forgets or lies, and when time passes. The same seed is the same run.
//
// A judge looks at every write as it lands, at every call of the platform and every
// acknowledgement, and at what is left when the faults are over. It goes by the
// invariants (DESIGN I1 to I10), not by how the rooms keep them.
//
// What belongs here: the scheduler, the world around the rooms, the judge; below
// bugs, the mistakes that the simulation must find. The rooms have no hook for it.
package sim
