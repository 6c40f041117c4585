package telegram

import (
	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// MaxText is the longest text that Telegram takes, in UTF-16 code units.
const MaxText = 4096

var splitter = provider.Splitter{Unit: provider.UTF16, Max: MaxText}

// Split cuts a text over [MaxText], see [provider.Splitter], and one of more entities than
// Telegram shows. The buttons are below the last part. A text over [MaxCaption], and one with a sticker, follows the file.
func (s *Sender) Split(send botmesh.Send) []botmesh.Send {
	if send.Media != nil {
		return splitFile(send)
	}
	return provider.Parts(splitter.SplitStyled(send, MaxText, size), send.Buttons)
}
