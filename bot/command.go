package bot

import (
	"strings"
	"unicode"
)

// maxCommand bounds the name of a command, in bytes.
const maxCommand = 32

// parseCommand splits "/name@bot arguments" into "/name" as it was written and
// the arguments without the space around them. Text that does not begin with such
// a word is no command: "/", "/usr/bin", "a /b".
func parseCommand(text string) (name, args string, ok bool) {
	text = strings.TrimSpace(text)
	word := text
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
		word, args = text[:i], strings.TrimSpace(text[i:])
	}
	name, to, addressed := strings.Cut(word, "@")
	if !strings.HasPrefix(name, "/") || !isWord(name[1:]) || addressed && !isWord(to) {
		return "", "", false
	}
	return name, args, len(name)-1 <= maxCommand
}

// isWord reports whether s is made of letters, digits and underscores of ASCII, at
// least one.
func isWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return s != ""
}
