package config

import (
	"log/slog"
	"regexp"
)

const mask = "***"

// Secret is a text that is never printed, whatever prints it: fmt, slog, JSON and
// YAML all give "***", or nothing if it is empty. It is held by a pointer, so that
// not even what looks into it by reflection shows it.
type Secret struct{ text *string }

// NewSecret hides text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal is the secret itself, for the one who must know it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsSet reports whether there is a secret at all.
func (s Secret) IsSet() bool { return s.Reveal() != "" }

// String is what is shown in place of the secret.
func (s Secret) String() string {
	if s.IsSet() {
		return mask
	}
	return ""
}

// LogValue hides the secret from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the secret from JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// URL is an address that may hold credentials, or several parted by commas.
// Printed, its credentials are "***".
type URL struct{ text *string }

// NewURL keeps an address.
func NewURL(text string) URL { return URL{&text} }

// Reveal is the whole address, for the one who dials it.
func (u URL) Reveal() string { return Secret(u).Reveal() }

// IsSet reports whether there is an address.
func (u URL) IsSet() bool { return u.Reveal() != "" }

var (
	userinfo   = regexp.MustCompile(`://[^/]*@`)
	queryparam = regexp.MustCompile(`([?&][^=&]*(?:password|passwd|token|secret|key)[^=&]*=)[^&]*`)
)

// String is the address without its credentials.
func (u URL) String() string {
	s := userinfo.ReplaceAllString(u.Reveal(), "://"+mask+"@")
	return queryparam.ReplaceAllString(s, "${1}"+mask)
}

// LogValue hides the credentials from slog.
func (u URL) LogValue() slog.Value { return slog.StringValue(u.String()) }

// MarshalText hides the credentials from JSON and YAML.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }
