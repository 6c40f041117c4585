package program

import (
	"os"
	"os/user"
)

// Operator is who runs this process, as user@host, for the log of acts.
func Operator() string {
	name := "cli"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}
