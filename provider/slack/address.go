package slack

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	channelForm = regexp.MustCompile(`^[A-Z0-9]{1,64}$`)
	stampForm   = regexp.MustCompile(`^[0-9]{1,16}\.[0-9]{1,9}$`)
)

// address is where messages come from and go to. As the chat of a chat key it is
// written "<channel>" or "<channel>/<thread>".
type address struct {
	channel string
	thread  string // the time stamp of its first message, empty for none
}

func (a address) String() string {
	if a.thread != "" {
		return a.channel + "/" + a.thread
	}
	return a.channel
}

// direct reports whether nobody but the user and the bot is there.
func (a address) direct() bool { return strings.HasPrefix(a.channel, "D") }

// parseAddress reads what [address.String] wrote.
func parseAddress(s string) (address, error) {
	channel, thread, ok := strings.Cut(s, "/")
	if !channelForm.MatchString(channel) || ok && !stampForm.MatchString(thread) {
		return address{}, fmt.Errorf("slack: chat %q: want a channel, or a channel and the time stamp of a thread", s)
	}
	return address{channel: channel, thread: thread}, nil
}
