package botmesh

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The kinds of files. They are words of the wire.
const (
	MediaImage    = "image"
	MediaVideo    = "video"
	MediaAudio    = "audio"
	MediaVoice    = "voice" // recorded by who sends it
	MediaDocument = "document"
	MediaSticker  = "sticker"
)

var mediaKinds = []string{MediaImage, MediaVideo, MediaAudio, MediaVoice, MediaDocument, MediaSticker}

// Bounds of a file that is sent, in bytes. A longer name is cut.
const (
	MaxMediaURL  = 2048 // also of Media.Ref
	MaxMediaName = 255
)

// Media is a file that a message refers to: one that a user sent, which [Run.Open] reads,
// or one that is sent, see [Send.Media].
type Media struct {
	Kind string `json:"kind"` // one of the kinds above
	// Ref is the platform's reference, which may outlive every address of the file. What is
	// sent has it or URL: it is known to the platform, and mostly the account, that gave it.
	Ref string `json:"ref,omitempty"`
	// URL is the http or https address of a file that is sent. The platform or the user's
	// device fetches it, once or whenever it is shown; Botmesh never does. Whoever may read
	// the chat can see it.
	URL string `json:"url,omitempty"`
	// Name is what the file is called, Type its media type, Size its bytes, each as whoever
	// sent it says and empty if unknown. A name is shown as one line.
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"`
	Size int64  `json:"size,omitempty"`
}

// Validate says what is wrong with a send that no platform has to be asked about: with its
// file, its spans and the message that it edits. The error does not say the file's address.
// What a platform has against a text it says itself.
func (s Send) Validate() error {
	s = s.InUTF8()
	if err := errors.Join(checkSpans(s.Text, s.Spans), s.Media.check(), s.checkEdits()); err != nil {
		return fmt.Errorf("botmesh: send: %w", err)
	}
	return nil
}

// check says what is wrong with a file that is sent, nil with none.
func (m *Media) check() error {
	if m == nil {
		return nil
	}
	var errs []error
	if !slices.Contains(mediaKinds, m.Kind) {
		errs = append(errs, fmt.Errorf("a file of kind %q, want one of %s", m.Kind, strings.Join(mediaKinds, ", ")))
	}
	if (m.Ref == "") == (m.URL == "") {
		errs = append(errs, errors.New("a file needs either Ref, the platform's reference, or URL, its address"))
	}
	if m.URL != "" {
		errs = append(errs, checkURL(m.URL))
	}
	if len(m.Ref) > MaxMediaURL || !utf8.ValidString(m.Ref) || strings.ContainsFunc(m.Ref, unicode.IsControl) {
		errs = append(errs, fmt.Errorf("a file's Ref has %d bytes or is no line of text, want at most %d", len(m.Ref), MaxMediaURL))
	}
	return errors.Join(errs...)
}

// Shown is what a send says, for people: its text, after its file as in
// "(image https://example.org/menu.png) Our menu".
func (s Send) Shown() string {
	if s.Media == nil {
		return s.Text
	}
	return strings.TrimSuffix("("+s.Media.Kind+" "+s.Media.URL+s.Media.Ref+") "+s.Text, " ")
}

// checkURL checks the form of a file's address, which stands in texts and pages too.
func checkURL(address string) error {
	if len(address) > MaxMediaURL {
		return fmt.Errorf("a file's URL has %d bytes, want at most %d", len(address), MaxMediaURL)
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || strings.ContainsFunc(address, oddInURL):
		return errors.New("a file's URL is not one: want it escaped, without spaces and quotes")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("a file's URL must begin with http:// or https:// and a host")
	case u.User != nil:
		return errors.New("a file's URL must hold no user or password: the platform and whoever reads the chat would see them")
	}
	return nil
}

// oddInURL reports whether an address can not hold r as it is.
func oddInURL(r rune) bool {
	return r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune(`"<>\`, r)
}
