// Package botmesh holds the words that every part of Botmesh shares: the chat
// key, the journaled record, the message a bot sends, the run that a worker
// hands to a bot and what comes back, and the errors that say whether a thing
// happened.
//
// What belongs here: types with no dependency that at least two rooms of the
// house speak about, and nothing that does work. The package imports nothing of
// Botmesh, no NATS, no Redis and no HTTP. What a room alone needs stays in it.
//
// The map of the rooms is docs/architecture.md.
package botmesh
