//go:build unix

package devd

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lock makes dir and takes it for this process: two servers on one folder would
// destroy its streams. It is free again when the process ends, however it ends.
func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s is used by another process: stop it, or give this one a folder of its own", dir)
	}
	return func() { f.Close() }, nil
}
