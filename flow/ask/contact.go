package ask

import (
	"cmp"
	"fmt"
	"net/mail"
	"strings"

	"github.com/botmesh-go/botmesh"
)

// EmailQuestion takes an e-mail address.
type EmailQuestion struct{}

// Email takes an address as it is written in a mail, without a name: "ana@example.com".
// Whether somebody reads there only a mail can tell.
func Email() EmailQuestion { return EmailQuestion{} }

// Parse reads an answer. The domain is put in lower case.
func (EmailQuestion) Parse(m botmesh.Message) (string, error) {
	said := strings.TrimPrefix(strings.TrimSpace(m.Text), "mailto:")
	a, err := mail.ParseAddress(said)
	if err != nil || a.Name != "" || a.Address != said || len(said) > 254 {
		return "", hint("Please send an e-mail address, such as ana@example.com.")
	}
	at := strings.LastIndexByte(said, '@')
	name, domain := said[:at], strings.ToLower(said[at+1:])
	if !strings.Contains(domain, ".") || strings.ContainsAny(domain, "[]") {
		return "", hint("Please send an e-mail address, such as ana@example.com.")
	}
	return name + "@" + domain, nil
}

// Spec is "email".
func (EmailQuestion) Spec() string { return "email" }

// Buttons is nil.
func (EmailQuestion) Buttons() [][]botmesh.Button { return nil }

// PhoneQuestion takes a telephone number.
type PhoneQuestion struct{ country string }

// Phone takes a number with its country code, or a contact that the user shares, and
// answers with it as E.164 writes it: "+4930123456".
func Phone() PhoneQuestion { return PhoneQuestion{} }

// Country takes numbers without a country code as those of a country, given by its
// code: "49".
func (q PhoneQuestion) Country(code string) PhoneQuestion {
	q.country = strings.TrimPrefix(code, "+")
	return q
}

// Parse reads an answer.
func (q PhoneQuestion) Parse(m botmesh.Message) (string, error) {
	if m.Contact != nil {
		if n, ok := e164("+"+strings.TrimPrefix(m.Contact.Phone, "+"), ""); ok {
			return n, nil
		}
	}
	n, ok := e164(m.Text, q.country)
	if !ok {
		return "", hint("Please send a phone number with its country code, such as +49 30 123456.")
	}
	return n, nil
}

// Spec is "phone".
func (PhoneQuestion) Spec() string { return "phone" }

// Buttons is nil.
func (PhoneQuestion) Buttons() [][]botmesh.Button { return nil }

// Validate says whether the country's code is one.
func (q PhoneQuestion) Validate() error {
	if q.country != "" && (len(q.country) > 3 || !digits(q.country) || q.country[0] == '0') {
		return fmt.Errorf("ask: %q is no country's code", q.country)
	}
	return nil
}

// e164 reads a number as people write it.
func e164(text, country string) (string, bool) {
	s := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\u00a0\u202f-–().·/", r) {
			return -1
		}
		return r
	}, strings.TrimSpace(text))
	national, international := strings.CutPrefix(s, "+")
	if !international {
		national, international = strings.CutPrefix(s, "00")
	}
	if !international && country != "" {
		national, international = country+strings.TrimPrefix(national, "0"), true
	}
	ok := international && 7 <= len(national) && len(national) <= 15 && digits(national) && national[0] != '0'
	return "+" + national, ok
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// ContactQuestion takes somebody's card.
type ContactQuestion struct{}

// Contact takes a contact that the user shares or, where a platform can not share
// one, a telephone number with its country code.
func Contact() ContactQuestion { return ContactQuestion{} }

// Parse reads an answer.
func (ContactQuestion) Parse(m botmesh.Message) (botmesh.Contact, error) {
	if m.Contact != nil && cmp.Or(m.Contact.Phone, m.Contact.User) != "" {
		return *m.Contact, nil
	}
	n, ok := e164(m.Text, "")
	if !ok {
		return botmesh.Contact{}, hint("Please share a contact, or send a phone number with its country code.")
	}
	return botmesh.Contact{Phone: n}, nil
}

// Spec is "contact".
func (ContactQuestion) Spec() string { return "contact" }

// Buttons is nil.
func (ContactQuestion) Buttons() [][]botmesh.Button { return nil }
