package slack

import (
	"slices"
	"strconv"
	"strings"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// The limits of a message. Slack cuts off what is over 40000; it asks for 4000.
const (
	// MaxText is the longest text of a message, in code points as they are sent:
	// "&" is five, "<" and ">" are four.
	MaxText = 4000
	// maxSection is the longest text of a section, and so with buttons below it.
	maxSection = 3000

	maxRows, maxInRow    = 49, 25
	maxLabel, maxPayload = 75, 2000
	buttonID             = "b"
)

var (
	escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	text   = provider.Splitter{Unit: escaped, Max: MaxText}
	inside = provider.Splitter{Unit: provider.CodePoints, Max: maxSection}
)

// escaped counts a rune as it is sent.
func escaped(r rune) int {
	switch r {
	case '&':
		return len("&amp;")
	case '<', '>':
		return len("&lt;")
	}
	return 1
}

// Split cuts a text over [MaxText], see [provider.Splitter], and over 3000 if it has spans.
// The buttons are below the last part, where they take a text of 3000; they become numbered
// lines if Slack would not take them: a label over 75 characters, a payload over 2000. An
// image is above the text, or before it if they do not fit one message.
func (s *Sender) Split(send botmesh.Send) []botmesh.Send {
	if send.Media != nil {
		return s.splitFile(send)
	}
	if len(slices.Concat(send.Buttons...)) == 0 {
		return provider.Parts(cut(send, MaxText), nil)
	}
	if blocks(send) == nil {
		numbered := provider.Numbered(send)
		numbered.Spans = send.Spans
		return provider.Parts(cut(numbered, MaxText), nil)
	}
	return provider.Parts(cut(send, maxSection), send.Buttons)
}

// cut cuts the text of a send, whose last part is at most last.
func cut(send botmesh.Send, last int) []string {
	if len(send.Spans) > 0 {
		return styled.SplitStyled(send, maxSection, size)
	}
	return text.SplitLast(send.Text, last)
}

// block is a section with a text, a rich text, actions with buttons, or an image.
type block struct {
	Type  string `json:"type"`
	Image string `json:"image_url,omitempty"`
	Alt   string `json:"alt_text,omitempty"`
	Text  *words `json:"text,omitempty"`
	// Elements are []stretch of a rich text, []element of actions.
	Elements any `json:"elements,omitempty"`
}

type words struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type element struct {
	Type  string `json:"type"`
	Text  words  `json:"text"`
	ID    string `json:"action_id"`
	Value string `json:"value"`
}

// texts are the text of a send in blocks. What is in them is not escaped.
func texts(send botmesh.Send) (all []block) {
	if len(send.Spans) > 0 {
		return []block{{Type: "rich_text", Elements: rich(send)}}
	}
	for _, part := range inside.Split(send.Text) {
		all = append(all, block{Type: "section", Text: &words{"plain_text", part}})
	}
	return all
}

// blocks are a text with rows of buttons, nil if the buttons do not fit.
func blocks(send botmesh.Send) []block {
	var rows []block
	n := 0
	for _, row := range send.Buttons {
		var all []element
		for _, button := range row {
			label, payload := provider.Unit(provider.CodePoints).Len(button.Label), provider.Unit(provider.CodePoints).Len(button.Payload)
			if label == 0 || label > maxLabel || payload == 0 || payload > maxPayload {
				return nil
			}
			all = append(all, element{"button", words{"plain_text", button.Label}, buttonID + strconv.Itoa(n), button.Payload})
			n++
		}
		if len(all) > maxInRow {
			return nil
		}
		if all != nil {
			rows = append(rows, block{Type: "actions", Elements: all})
		}
	}
	if len(rows) > maxRows || n == 0 {
		return nil
	}
	return append(texts(send), rows...)
}
