package slack

import (
	"cmp"
	"slices"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// Attaches implements [provider.Attacher]: Slack shows images by their address, which it
// fetches while the call lasts. Nothing else is shown but what an app has uploaded.
func (s *Sender) Attaches(m botmesh.Media) bool { return m.Kind == botmesh.MediaImage && m.URL != "" }

// splitFile keeps a text with its image if both fit one message.
func (s *Sender) splitFile(send botmesh.Send) []botmesh.Send {
	rest := botmesh.Send{Text: send.Text, Spans: send.Spans, Buttons: send.Buttons}
	parts := s.Split(rest)
	if len(parts) > 1 || len(slices.Concat(send.Buttons...)) > 0 && (blocks(rest) == nil || len(blocks(rest)) > maxRows) {
		return provider.Above(send.Media, parts)
	}
	parts[0].Media = send.Media
	return parts
}

// withImage is an image above the blocks of a send, nil if its buttons do not fit.
func withImage(send botmesh.Send) []block {
	out := []block{{Type: "image", Image: send.Media.URL, Alt: alt(send.Media)}}
	switch {
	case len(send.Buttons) > 0:
		below := blocks(send)
		if below == nil {
			return nil
		}
		if send.Text == "" {
			below = below[1:]
		}
		return append(out, below...)
	case send.Text != "":
		return append(out, texts(send)...)
	}
	return out
}

// alt is what is said in place of an image.
func alt(m *botmesh.Media) string {
	if m == nil {
		return ""
	}
	return cmp.Or(m.Name, m.Kind)
}
