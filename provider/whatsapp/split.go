package whatsapp

import (
	"slices"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// The platform's limits, in code points.
const (
	// MaxText is the longest text of a message.
	MaxText = 4096
	// maxBody is the longest text with buttons or a list below it.
	maxBody = 1024

	maxButtons, maxButtonLabel, maxButtonID = 3, 20, 256
	maxRows, maxRowLabel, maxRowID          = 10, 24, 200
	maxChoose                               = 20
)

var text = provider.Splitter{Unit: provider.CodePoints, Max: MaxText, Marks: "*_~`"}

// Split cuts a text over [MaxText], see [provider.Splitter], into as few messages
// as it can: each is paid for. Up to three buttons are below the last part and up
// to ten choices in a list, where that takes a text of 1024. What fits in neither
// becomes numbered lines. A text that can not be a file's caption follows it. Spans are
// counted as the marks that show them.
func (s *Sender) Split(send botmesh.Send) []botmesh.Send {
	if send.Media != nil {
		return s.splitFile(send)
	}
	if len(slices.Concat(send.Buttons...)) == 0 {
		return provider.Parts(text.SplitStyled(send, MaxText, length), nil)
	}
	if s.interactive(send) == nil {
		return provider.Parts(text.SplitStyled(numbered(send), MaxText, length), nil)
	}
	return provider.Parts(text.SplitStyled(send, maxBody, length), send.Buttons)
}

// numbered is a send with its buttons as lines of its text.
func numbered(send botmesh.Send) botmesh.Send {
	lines := provider.Numbered(send)
	lines.Spans = send.Spans
	return lines
}

type interactive struct {
	Type   string `json:"type"`
	Body   body   `json:"body"`
	Action action `json:"action"`
}

type action struct {
	Buttons  []button  `json:"buttons,omitempty"`
	Button   string    `json:"button,omitempty"`
	Sections []section `json:"sections,omitempty"`
}

type button struct {
	Type  string `json:"type"`
	Reply option `json:"reply"`
}

type section struct {
	Rows []option `json:"rows"`
}

// interactive makes buttons or a list of a send, nil if its buttons fit in neither.
func (s *Sender) interactive(send botmesh.Send) *interactive {
	var options []option
	for _, b := range slices.Concat(send.Buttons...) {
		options = append(options, option{ID: b.Payload, Title: b.Label})
	}
	out := interactive{Body: body{Text: send.Text}}
	switch {
	case fit(options, maxButtons, maxButtonLabel, maxButtonID):
		out.Type = "button"
		for _, o := range options {
			out.Action.Buttons = append(out.Action.Buttons, button{Type: "reply", Reply: o})
		}
	case fit(options, maxRows, maxRowLabel, maxRowID):
		out.Type = "list"
		out.Action = action{Button: s.choose, Sections: []section{{Rows: options}}}
	default:
		return nil
	}
	return &out
}

// fit says whether the platform takes the options: each has a title and an id, and
// no two are alike.
func fit(options []option, most, title, id int) bool {
	seen := map[string]bool{}
	for _, o := range options {
		n, m := provider.Unit(provider.CodePoints).Len(o.Title), provider.Unit(provider.CodePoints).Len(o.ID)
		if n == 0 || n > title || m == 0 || m > id || seen["t"+o.Title] || seen["i"+o.ID] {
			return false
		}
		seen["t"+o.Title], seen["i"+o.ID] = true, true
	}
	return len(options) > 0 && len(options) <= most
}
