package proc

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
)

// Ports are taken from below the range that systems pick the near ends of
// outgoing connections from, so that none takes the port of a child that is down
// for a moment.
const (
	lowestPort  = 12_000
	highestPort = 30_000
)

var nextPort atomic.Uint32

func init() { nextPort.Store(rand.Uint32N(highestPort - lowestPort)) }

// FreeAddr returns a loopback address whose port nobody listens on. It is given
// out once per process, so that a child may come back to it.
func FreeAddr() (string, error) {
	for range 1000 {
		port := lowestPort + int(nextPort.Add(1))%(highestPort-lowestPort)
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		l, err := net.Listen("tcp", addr)
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return "", fmt.Errorf("proc: freeing %s: %w", addr, err)
		}
		return addr, nil
	}
	return "", fmt.Errorf("proc: no free port between %d and %d", lowestPort, highestPort)
}
