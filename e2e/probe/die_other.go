//go:build !linux

package probe

import "syscall"

// die sends this process the signal of an action. A kill does not return; a stop
// returns when another process let this one go on.
func die(a Action) {
	signal := syscall.SIGKILL
	if a == Stop {
		signal = syscall.SIGSTOP
	}
	if err := syscall.Kill(syscall.Getpid(), signal); err != nil {
		panic(err)
	}
	if a == Kill {
		select {}
	}
}
