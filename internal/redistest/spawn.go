package redistest

import (
	"os/exec"
	"runtime"
)

// spawn starts the server on a thread that lives as long as the server does: the
// kernel kills a child marked so when the thread that made it ends.
func spawn(bin string, args []string) (*child, error) {
	c := &child{cmd: exec.Command(bin, args...), gone: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = &c.output, &c.output
	c.cmd.SysProcAttr = dieWithParent()
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			c.cmd.Wait()
		}
		close(c.gone)
	}()
	return c, <-started
}
