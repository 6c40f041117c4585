package telegram

import (
	"fmt"
	"strconv"
	"strings"
)

// businessMark begins the address of a chat that a business account has with a
// customer. Its number is also that of the bot's own chat with that customer,
// which is another conversation.
const businessMark = "biz:"

// address is where messages come from and go to. As the chat of a chat key it is
// written "<chat>", "<chat>/<topic>" or "biz:<connection>:<chat>".
type address struct {
	chat     int64
	topic    int64  // zero for none
	business string // the business connection's id, empty for none
}

func (a address) String() string {
	s := strconv.FormatInt(a.chat, 10)
	switch {
	case a.business != "":
		return businessMark + a.business + ":" + s
	case a.topic != 0:
		return s + "/" + strconv.FormatInt(a.topic, 10)
	}
	return s
}

// parseAddress reads what [address.String] wrote.
func parseAddress(s string) (address, error) {
	var a address
	number := s
	if rest, ok := strings.CutPrefix(s, businessMark); ok {
		i := strings.LastIndexByte(rest, ':')
		if i < 1 {
			return address{}, fmt.Errorf("telegram: chat %q: want biz:<connection>:<chat>", s)
		}
		a.business, number = rest[:i], rest[i+1:]
	}
	number, topic, ok := strings.Cut(number, "/")
	var err error
	if a.chat, err = strconv.ParseInt(number, 10, 64); err != nil || a.chat == 0 {
		return address{}, fmt.Errorf("telegram: chat %q is not a chat's number", s)
	}
	if ok {
		if a.topic, err = strconv.ParseInt(topic, 10, 64); err != nil || a.topic == 0 || a.business != "" {
			return address{}, fmt.Errorf("telegram: chat %q: %q is not a topic's number", s, topic)
		}
	}
	return a, nil
}
