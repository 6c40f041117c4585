package whatsapp

import (
	"slices"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// MaxCaption is the longest text below a file, in code points. There is none below audio
// and stickers.
const MaxCaption = 1024

// Attaches implements [provider.Attacher]. The platform takes files of every kind by
// address, which it fetches after it took the message, and by the id of a file that the
// account uploaded or, for some days, was sent. What it can not fetch it tells by a status.
func (s *Sender) Attaches(botmesh.Media) bool { return true }

// splitFile keeps a text with its file where it can be the caption. Buttons can not be
// below a file: they are below the text that follows, or numbered lines of the caption if
// there is none.
func (s *Sender) splitFile(send botmesh.Send) []botmesh.Send {
	m := send.Media
	send.Media = nil
	if len(slices.Concat(send.Buttons...)) > 0 && (send.Text == "" || s.interactive(send) == nil) {
		send = numbered(send)
	}
	captioned := m.Kind == botmesh.MediaImage || m.Kind == botmesh.MediaVideo || m.Kind == botmesh.MediaDocument
	if send.Text == "" || captioned && len(slices.Concat(send.Buttons...)) == 0 && length(send) <= MaxCaption {
		return []botmesh.Send{{Text: send.Text, Media: m}}
	}
	return provider.Above(m, s.Split(send))
}

// attachment is a file in a message, in the field of its kind.
type attachment struct {
	Image    *file `json:"image,omitempty"`
	Video    *file `json:"video,omitempty"`
	Audio    *file `json:"audio,omitempty"`
	Document *file `json:"document,omitempty"`
	Sticker  *file `json:"sticker,omitempty"`
}

type file struct {
	ID      string `json:"id,omitempty"`
	Link    string `json:"link,omitempty"`
	Caption string `json:"caption,omitempty"`
	Name    string `json:"filename,omitempty"`
}

// attach makes msg a message with the file of a send.
func (msg *outgoing) attach(send botmesh.Send) {
	m := send.Media
	f := &file{ID: m.Ref, Link: m.URL, Caption: send.Text}
	msg.Text = nil
	switch msg.Type = m.Kind; m.Kind {
	case botmesh.MediaImage:
		msg.Image = f
	case botmesh.MediaVideo:
		msg.Video = f
	case botmesh.MediaAudio, botmesh.MediaVoice:
		msg.Type, msg.Audio = botmesh.MediaAudio, f
	case botmesh.MediaDocument:
		f.Name = m.Name
		msg.Document = f
	case botmesh.MediaSticker:
		msg.Sticker = f
	}
}
