// Package e2e holds the black-box tests: real processes, real servers, faults.
//
// Each test starts a fleet of its own (package fleet), posts webhooks and judges
// the run by the platform's log alone (packages platform and check). The tests
// that load the machine run one after the other, those that mostly wait run beside
// one another. A test that fails shows the end of every process's log; with go
// test -artifacts all of it is kept.
package e2e
