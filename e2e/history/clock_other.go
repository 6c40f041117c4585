//go:build !linux

package history

import "time"

// Now is the wall clock in nanoseconds, where no other is shared by all processes.
func Now() int64 { return time.Now().UnixNano() }
