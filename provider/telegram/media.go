package telegram

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// MaxCaption is the longest text below a file, in UTF-16 code units.
const MaxCaption = 1024

// methods are the calls that send a file, by its kind.
var methods = map[string]string{
	botmesh.MediaImage: "sendPhoto", botmesh.MediaVideo: "sendVideo", botmesh.MediaAudio: "sendAudio",
	botmesh.MediaVoice: "sendVoice", botmesh.MediaDocument: "sendDocument", botmesh.MediaSticker: "sendSticker",
}

// Attaches implements [provider.Attacher]. Telegram takes files of every kind by their
// file_id, which is the bot's own, and by address, which it fetches while the call lasts:
// images of up to 5 MB, others of up to 20. It takes no documents by address but PDF, ZIP
// and GIF (https://core.telegram.org/bots/api#sending-files).
func (s *Sender) Attaches(m botmesh.Media) bool {
	if m.Kind != botmesh.MediaDocument || m.URL == "" || slices.Contains([]string{"application/pdf", "application/zip", "image/gif"}, m.Type) {
		return true
	}
	at, err := url.Parse(m.URL)
	return err == nil && m.Type == "" && slices.Contains([]string{".pdf", ".zip", ".gif"}, strings.ToLower(path.Ext(at.Path)))
}

// splitFile keeps a text with its file, or lets it follow if it is too long.
func splitFile(send botmesh.Send) []botmesh.Send {
	if send.Text != "" && send.Media.Kind == botmesh.MediaSticker || splitter.Unit.Len(send.Text) > MaxCaption || size(send) > MaxText {
		return provider.Above(send.Media, provider.Parts(splitter.SplitStyled(send, MaxText, size), send.Buttons))
	}
	return []botmesh.Send{{Text: send.Text, Media: send.Media, Buttons: send.Buttons}}
}

// attachment is a file in a call, in the field of its kind.
type attachment struct {
	Photo           string   `json:"photo,omitempty"`
	Video           string   `json:"video,omitempty"`
	Audio           string   `json:"audio,omitempty"`
	Voice           string   `json:"voice,omitempty"`
	Document        string   `json:"document,omitempty"`
	Sticker         string   `json:"sticker,omitempty"`
	Caption         string   `json:"caption,omitempty"`
	CaptionEntities []entity `json:"caption_entities,omitempty"`
}

// attach makes msg a call that sends a file, nil for none, and returns its method.
func (msg *outgoing) attach(m *botmesh.Media) (method string) {
	if m == nil {
		return "sendMessage"
	}
	at := m.Ref + m.URL // one of which is empty
	switch m.Kind {
	case botmesh.MediaImage:
		msg.Photo = at
	case botmesh.MediaVideo:
		msg.Video = at
	case botmesh.MediaAudio:
		msg.Audio = at
	case botmesh.MediaVoice:
		msg.Voice = at
	case botmesh.MediaDocument:
		msg.Document = at
	case botmesh.MediaSticker:
		msg.Sticker = at
	}
	return methods[m.Kind]
}
