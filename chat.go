package botmesh

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
)

// maxToken is the longest subject token a chat gets before it is hashed, in bytes.
const maxToken = 150

// hashMark begins a token that is a hash. An escape is "=" and two upper-case
// hexadecimal digits, so no escaped text begins like this.
const hashMark = "=h"

// ErrHashedToken says that a token is a hash of its chat, which can not be
// turned back: the chat key is in the record's Bot-Chat header.
var ErrHashedToken = errors.New("botmesh: the token is a hash, the chat key is in the record's Bot-Chat header")

// ChatKey names one conversation. It is comparable and serves as a map key.
type ChatKey struct {
	// Provider is the id of one account on one platform, such as "telegram". It
	// matches [a-z0-9-]{1,32}.
	Provider string `json:"provider"`
	// Chat is the address that replies go to. Never empty.
	Chat string `json:"chat"`
	// Participant is the user's id in a group and empty elsewhere: in a group
	// each participant has a conversation of their own.
	Participant string `json:"participant,omitempty"`
}

// ValidName reports whether s can be a bot's or a provider's id:
// [a-z0-9-]{1,32}.
func ValidName(s string) bool {
	if len(s) < 1 || len(s) > 32 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// Validate says what is wrong with k, or nil.
func (k ChatKey) Validate() error {
	switch {
	case !ValidName(k.Provider):
		return fmt.Errorf("botmesh: provider %q does not match [a-z0-9-]{1,32}", k.Provider)
	case k.Chat == "":
		return fmt.Errorf("botmesh: the chat key of provider %q has no chat", k.Provider)
	}
	return nil
}

// String writes k for people and the command line: provider, chat and, if
// there is one, participant, each URL-encoded, as "telegram/-100123/55".
// [ParseChatKey] reads it.
func (k ChatKey) String() string {
	s := url.PathEscape(k.Provider) + "/" + url.PathEscape(k.Chat)
	if k.Participant != "" {
		s += "/" + url.PathEscape(k.Participant)
	}
	return s
}

// LogValue is [ChatKey.String]: a chat is one word in all logs, the one that the
// command line takes.
func (k ChatKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// ParseChatKey reads what [ChatKey.String] wrote.
func ParseChatKey(s string) (ChatKey, error) {
	parts := strings.Split(s, "/")
	if len(parts) != 2 && len(parts) != 3 {
		return ChatKey{}, fmt.Errorf("botmesh: %q is not a chat key: want provider/chat or provider/chat/participant", s)
	}
	for i, p := range parts {
		u, err := url.PathUnescape(p)
		if err != nil {
			return ChatKey{}, fmt.Errorf("botmesh: chat key %q: %w", s, err)
		}
		parts[i] = u
	}
	k := ChatKey{Provider: parts[0], Chat: parts[1]}
	if len(parts) == 3 {
		if parts[2] == "" {
			return ChatKey{}, fmt.Errorf("botmesh: chat key %q ends in an empty participant", s)
		}
		k.Participant = parts[2]
	}
	return k, k.Validate()
}

// Token writes the chat and participant of k as one NATS subject token that is
// also a valid part of a key-value key. Letters, digits, "-" and "_" stay, every
// other byte becomes "=XX", and a slash parts chat from participant. Whatever a
// platform puts in an id, the token holds no dot, space or wildcard, so that it
// can not leave its place in a subject. Over 150 bytes it is "=h" and the
// SHA-256 of that text in hexadecimal.
func (k ChatKey) Token() string {
	t := escape(k.Chat)
	if k.Participant != "" {
		t += "/" + escape(k.Participant)
	}
	if len(t) > maxToken {
		sum := sha256.Sum256([]byte(t))
		return hashMark + hex.EncodeToString(sum[:])
	}
	return t
}

// Key is the chat's name in the checkpoint store and in Redis:
// provider, a dot, [ChatKey.Token].
func (k ChatKey) Key() string { return k.Provider + "." + k.Token() }

// ParseKey reads what [ChatKey.Key] wrote. The error is [ErrHashedToken] if the
// token is a hash.
func ParseKey(key string) (ChatKey, error) {
	provider, token, ok := strings.Cut(key, ".")
	if !ok {
		return ChatKey{}, fmt.Errorf("botmesh: %q is not a chat's key: want provider.token", key)
	}
	return ParseToken(provider, token)
}

// ParseToken turns a token of a provider's chat back into its key. The error is
// [ErrHashedToken] if the token is a hash.
func ParseToken(provider, token string) (ChatKey, error) {
	if strings.HasPrefix(token, hashMark) {
		return ChatKey{}, ErrHashedToken
	}
	chat, participant, group := strings.Cut(token, "/")
	k := ChatKey{Provider: provider}
	var err error
	if k.Chat, err = unescape(chat); err != nil {
		return ChatKey{}, fmt.Errorf("botmesh: token %q: %w", token, err)
	}
	if k.Participant, err = unescape(participant); err != nil {
		return ChatKey{}, fmt.Errorf("botmesh: token %q: %w", token, err)
	}
	if group && k.Participant == "" {
		return ChatKey{}, fmt.Errorf("botmesh: token %q ends in an empty participant", token)
	}
	return k, k.Validate()
}

const upperHex = "0123456789ABCDEF"

func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

func escape(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := range len(s) {
		if c := s[i]; plain(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('=')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		}
	}
	return b.String()
}

func unescape(s string) (string, error) {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case plain(c):
			b.WriteByte(c)
		case c == '=' && i+2 < len(s):
			hi, lo := strings.IndexByte(upperHex, s[i+1]), strings.IndexByte(upperHex, s[i+2])
			if hi < 0 || lo < 0 {
				return "", fmt.Errorf("bad escape %q", s[i:i+3])
			}
			v := byte(hi<<4 | lo)
			if plain(v) {
				return "", fmt.Errorf("needless escape %q", s[i:i+3])
			}
			b.WriteByte(v)
			i += 2
		default:
			return "", fmt.Errorf("byte %q at %d", c, i)
		}
	}
	return b.String(), nil
}
