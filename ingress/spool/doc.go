// Package spool keeps messages on the disk of an ingress while the journal can not be
// reached, for platforms that do not repeat a webhook for long.
//
// A [Spool] is the stream of the journal to whoever writes to it. A message that the
// stream takes goes no other way. One that it refuses, or does not answer for half a
// second, is written to the disk and synced before the call returns, and so are all that
// come after it until the disk has been emptied into the stream: so the messages of a
// chat that came one after the other through this process stand in the journal in that
// order. Each is published under the message id that it had, so that what the stream
// had taken after all, or takes twice since the process died in between, is known to it
// within its duplicate window and to workers for longer.
//
// What is on the disk waits for this process, or the next one on the same directory,
// and is lost with the disk. Chats whose webhooks come through other replicas meanwhile
// go ahead of it.
//
// What belongs here: messages between their refusal and the journal. What they say does
// not, nor what a webhook is answered.
package spool
