// Package probe stands between a program and its engines: it writes the history
// of every call that leaves something behind, and dies or stops where it is told.
//
// What belongs here: the wrappers of a stream, a coordinator and a sender, and the
// crash points. They change no call and no answer. What a history proves does not
// belong here: that is package check's.
package probe
