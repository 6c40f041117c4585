//go:build !linux

package proc

import "syscall"

// group puts a child into a process group of its own. Only Linux can bind its
// life to ours.
func group() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func spawn(start func() error) error { return start() }
