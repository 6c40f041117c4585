package telegramtest

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
)

// entity is a style of a stretch of a text, in UTF-16 code units.
type entity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	URL    string `json:"url"`
}

// known are the types of entities that a bot gives, of those that it needs here.
var known = []string{"bold", "italic", "underline", "strikethrough", "spoiler", "blockquote", "code", "pre", "text_link"}

// entitiesFault is what Telegram says against the entities of a text, in its words; empty
// for nothing.
func entitiesFault(text string, all []entity) string {
	units := utf16.Encode([]rune(text))
	within := func(at int) bool { return at > 0 && at < len(units) && units[at] >= 0xdc00 && units[at] < 0xe000 }
	for _, e := range all {
		end := e.Offset + e.Length
		switch {
		case !slices.Contains(known, e.Type):
			return "can't parse MessageEntity: Unsupported type specified"
		case e.Type == "text_link" && !leads(e.URL):
			return fmt.Sprintf("entity URL '%s' is invalid: Wrong HTTP URL", e.URL)
		case e.Offset < 0:
			return fmt.Sprintf("receive an entity with incorrect offset %d", e.Offset)
		case e.Length < 0:
			return fmt.Sprintf("receive an entity with incorrect length %d", e.Length)
		case within(e.Offset):
			return fmt.Sprintf("entity begins in a middle of a UTF-16 symbol at byte offset %d", e.Offset)
		case within(end):
			return fmt.Sprintf("entity beginning at UTF-16 offset %d ends in a middle of a UTF-16 symbol at byte offset %d", e.Offset, end)
		case e.Offset > len(units):
			return fmt.Sprintf("entity begins after the end of the text at UTF-16 offset %d", e.Offset)
		case end > len(units):
			return fmt.Sprintf("entity beginning at UTF-16 offset %d ends after the end of the text at UTF-16 offset %d", e.Offset, end)
		}
	}
	return ""
}

// leads reports whether Telegram takes the address of a link: a scheme that it does not know
// is the name of a host to it, and a host has a dot.
func leads(address string) bool {
	scheme, _, ok := strings.Cut(address, "://")
	if !ok {
		address = "http://" + address
	} else if s := strings.ToLower(scheme); s != "http" && s != "https" && s != "tg" {
		return false
	}
	at, err := url.Parse(address)
	return err == nil && (strings.ContainsAny(at.Hostname(), ".:") || at.Scheme == "tg" && at.Host != "")
}
