package proc

import (
	"runtime"
	"sync"
	"syscall"
)

// group puts a child into a process group of its own, and asks the kernel to
// kill it when the thread that started it ends.
func group() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

var (
	spawnOnce sync.Once
	spawns    chan func()
)

// spawn runs start on one thread that lives as long as this process: with
// Pdeathsig a child dies with the thread that started it, and the runtime may
// end any other.
func spawn(start func() error) error {
	spawnOnce.Do(func() {
		spawns = make(chan func())
		go spawner()
	})
	answer := make(chan error, 1)
	spawns <- func() { answer <- start() }
	return <-answer
}

func spawner() {
	runtime.LockOSThread()
	for f := range spawns {
		f()
	}
}
