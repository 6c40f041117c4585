package whatsapp

import (
	"github.com/botmesh-go/botmesh"
)

// content says what m is and what it holds.
func (m *message) content() (botmesh.RecordType, botmesh.Message) {
	switch m.Type {
	case "text":
		return botmesh.TypeMessage, botmesh.Message{Text: m.Text.Body}
	case "image":
		return m.media("image", m.Image)
	case "video":
		return m.media("video", m.Video)
	case "audio":
		if m.Audio != nil && m.Audio.Voice {
			return m.media("voice", m.Audio)
		}
		return m.media("audio", m.Audio)
	case "document":
		return m.media("document", m.Document)
	case "sticker":
		return m.media("sticker", m.Sticker)
	case "interactive":
		return m.interactive()
	case "button":
		if m.Button != nil {
			return botmesh.TypeCallback, botmesh.Message{Payload: m.Button.Payload, Text: m.Button.Text}
		}
	case "reaction": // without an emoji it was taken back
		return botmesh.TypeReaction, botmesh.Message{Of: m.Reaction.Of, Text: m.Reaction.Emoji}
	case "edit":
		return botmesh.TypeEdit, botmesh.Message{Of: m.Edit.Of, Text: m.Edit.Message.Text.Body}
	case "revoke":
		return botmesh.TypeDelete, botmesh.Message{Of: m.Revoke.Of}
	case "location", "contacts", "order", "unsupported":
		return botmesh.TypeMessage, botmesh.Message{Unsupported: true}
	}
	return botmesh.TypeEvent, botmesh.Message{}
}

func (m *message) media(kind string, f *media) (botmesh.RecordType, botmesh.Message) {
	if f == nil || f.ID == "" {
		return botmesh.TypeMessage, botmesh.Message{Unsupported: true}
	}
	return botmesh.TypeMessage, botmesh.Message{
		Text:  f.Caption,
		Media: []botmesh.Media{{Kind: kind, Ref: f.ID, Name: f.Name, Type: f.Type, Size: f.Size}},
	}
}

// interactive is the answer to buttons, a list or a form.
func (m *message) interactive() (botmesh.RecordType, botmesh.Message) {
	switch i := m.Interactive; {
	case i.Button != nil:
		return botmesh.TypeCallback, botmesh.Message{Payload: i.Button.ID, Text: i.Button.Title}
	case i.List != nil:
		return botmesh.TypeCallback, botmesh.Message{Payload: i.List.ID, Text: i.List.Title}
	case i.Form != nil:
		return botmesh.TypeCallback, botmesh.Message{Payload: i.Form.Response, Text: i.Form.Body}
	}
	return botmesh.TypeEvent, botmesh.Message{}
}
