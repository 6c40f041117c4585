package natstest

import "syscall"

// attributes put a child in a process group of its own, and end it with the test's
// process even if that is killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
