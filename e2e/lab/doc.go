// Command lab runs whole Botmeshes as processes, does to them what machines,
// networks, servers and platforms do, and judges what came of it.
//
//	go run ./e2e/lab                              what a change must pass
//	go run ./e2e/lab -for 1h -chats 200           longer, and larger
//	go run ./e2e/lab -only crash                  one part: chaos, crash or poison
//	go run ./e2e/lab -only crash=commit.after     the points that begin so
//
// It exits with 1 if a promise was broken, and also if nothing was proved of one.
//
// What belongs here: the plan, the load, the faults and their effects. What a
// history proves is package check's, what processes tell is package probe's.
package main
