// Package netproxy stands between two parts of a run and does to their
// connections what networks do: it cuts them, holds back one direction or both,
// loses what it held, and makes them slow.
//
// What belongs here: bytes on their way. What they mean, and when a network is to
// be bad, does not.
package netproxy
