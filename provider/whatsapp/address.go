package whatsapp

import (
	"fmt"
	"regexp"
	"strings"
)

// groupMark begins the address of a group.
const groupMark = "group:"

var (
	phoneForm = regexp.MustCompile(`^[0-9]{1,32}$`)
	userForm  = regexp.MustCompile(`^[A-Z]{2}\.[A-Za-z0-9.]{1,160}$`) // a business-scoped user id
	groupForm = regexp.MustCompile(`^[A-Za-z0-9+/=_.-]{1,160}$`)
)

// address is where messages come from and go to. As the chat of a chat key it is
// written "<phone or user id>" or "group:<id>", with "<number id>@" before it if
// it is not of the account's own number.
type address struct {
	number string // the id of the business number, empty for the account's own
	to     string
	group  bool
}

func (a address) String() string {
	s := a.to
	if a.group {
		s = groupMark + s
	}
	if a.number != "" {
		s = a.number + "@" + s
	}
	return s
}

// parseAddress reads what [address.String] wrote.
func parseAddress(s string) (address, error) {
	var a address
	rest := s
	if number, after, ok := strings.Cut(s, "@"); ok {
		if !numberForm.MatchString(number) {
			return address{}, fmt.Errorf("whatsapp: chat %q: %q is not the id of a number", s, number)
		}
		a.number, rest = number, after
	}
	a.to, a.group = strings.CutPrefix(rest, groupMark)
	if a.group && !groupForm.MatchString(a.to) || !a.group && !phoneForm.MatchString(a.to) && !userForm.MatchString(a.to) {
		return address{}, fmt.Errorf("whatsapp: chat %q is not a phone number, a user id or a group", s)
	}
	return a, nil
}
