package probe

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// die sends this process the signal of an action. A kill does not return; a stop
// returns when another process let this one go on. The signal goes to the very
// thread, so that nothing of the caller runs after it.
func die(a Action) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signal := unix.SIGKILL
	if a == Stop {
		signal = unix.SIGSTOP
	}
	if err := unix.Tgkill(unix.Getpid(), unix.Gettid(), signal); err != nil {
		panic(err)
	}
	if a == Kill {
		select {}
	}
}
