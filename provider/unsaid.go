package provider

import (
	"cmp"
	"slices"
	"strings"

	"github.com/botmesh-go/botmesh"
)

// quoted is how long a text is, in bytes, that is looked for in what a platform answered:
// a shorter one is in any answer.
const quoted = 4

// Unsaid is err without what a send says, as a platform may repeat it in its refusal, which
// is logged, traced and stored: the text, that with the addresses of its links, each of
// those, its file's address and its buttons. In place of each is <text>. What the error means
// stays, see [IsPermanent]. It is nil if err is.
//
// The outbox does so with each [Call.Send]. A Sender that writes another text than that
// calls it with what it wrote.
func Unsaid(err error, s botmesh.Send) error {
	if err == nil {
		return nil
	}
	texts := []string{s.Text, Plain(s).Text}
	for _, span := range s.Spans {
		texts = append(texts, span.URL)
	}
	if s.Media != nil {
		texts = append(texts, s.Media.URL, s.Media.Ref)
	}
	for _, b := range slices.Concat(s.Buttons...) {
		texts = append(texts, b.Label, b.Payload)
	}
	for i := range texts {
		texts[i] = strings.TrimSpace(texts[i]) // platforms trim them too
	}
	texts = slices.DeleteFunc(texts, func(t string) bool { return len(t) < quoted })
	slices.SortFunc(texts, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // one may be within another
	said := err.Error()
	told := said
	for _, t := range texts {
		told = strings.ReplaceAll(told, t, "<text>")
	}
	if told == said {
		return err
	}
	return &unsaidError{err, told}
}

type unsaidError struct {
	err  error
	told string
}

func (e *unsaidError) Error() string { return e.told }
func (e *unsaidError) Unwrap() error { return e.err }
