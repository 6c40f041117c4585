//go:build unix && !linux

package natstest

import "syscall"

// attributes put a child in a process group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
