package providertest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// files cuts sends with files: one that the platform takes is in the first part, of another
// the address is in the text, and the caption is there in any case.
func (p Platform) files(t *testing.T) {
	t.Helper()
	s := p.Sender(t, "http://127.0.0.1:1")
	a, _ := s.(provider.Attacher)
	const at, caption = "https://example.org/a.pdf", "A caption"
	for _, kind := range []string{
		botmesh.MediaImage, botmesh.MediaVideo, botmesh.MediaAudio, botmesh.MediaVoice, botmesh.MediaDocument, botmesh.MediaSticker,
	} {
		for _, m := range []botmesh.Media{{Kind: kind, URL: at, Name: "a.pdf"}, {Kind: kind, Ref: "reference"}} {
			taken := a != nil && a.Attaches(m)
			parts, err := provider.Split(s, botmesh.Send{Text: caption, Media: &m})
			if err != nil || len(parts) == 0 {
				if taken || m.URL != "" {
					t.Errorf("%+v: got %d parts and error %v, want some", m, len(parts), err)
				}
				continue
			}
			var text strings.Builder
			for i, part := range parts {
				text.WriteString(part.Text + "\n")
				want := (*botmesh.Media)(nil)
				if taken && i == 0 {
					want = &m
				}
				if diff := cmp.Diff(want, part.Media); diff != "" {
					t.Errorf("%+v: part %d of a file that is taken %v (-want +got):\n%s", m, i, taken, diff)
				}
			}
			if !strings.Contains(text.String(), caption) || !taken && !strings.Contains(text.String(), at) {
				t.Errorf("%+v: got the texts %q, want the caption, and the address if it is not taken", m, text.String())
			}
		}
	}
}
