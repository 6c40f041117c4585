package main

import (
	"testing"

	"github.com/botmesh-go/botmesh/flow/flowtest"
)

func TestEcho(t *testing.T) {
	t.Parallel()
	flowtest.Play(t, echo()).User("hello").Bot("hello").CrashOn("again").Bot("again")
}
