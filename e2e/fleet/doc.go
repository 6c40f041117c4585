// Package fleet runs a whole Botmesh as processes: a NATS server, a Redis, ingress
// and worker replicas of the demo bot. It starts them with the settings an operator
// would give, does to them what a run asks for, and reads what they say of
// themselves on their private addresses.
//
// What belongs here: the contract of the programs as seen from outside, that is
// environment, signals and endpoints. It imports no package under test.
package fleet
