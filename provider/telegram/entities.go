package telegram

import (
	"net/url"
	"strings"
	"unicode"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// maxEntities is how many entities of a message Telegram shows; it leaves out the others.
const maxEntities = 100

// entity is the style of a stretch of a text, in UTF-16 code units
// (https://core.telegram.org/bots/api#messageentity).
type entity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	URL    string `json:"url,omitempty"`
}

// entityType is a type of entity, and what a run has of it, empty for nothing.
type entityType struct {
	name string
	of   func(provider.Run) string
}

// entityTypes are all of them, outer ones first. A link has no code: Telegram takes one of them.
var entityTypes = []entityType{
	{"pre", func(r provider.Run) string { return yes(r.Pre) }},
	{"code", func(r provider.Run) string { return yes(r.Code && r.URL == "") }},
	{"text_link", func(r provider.Run) string { return r.URL }},
	{"bold", func(r provider.Run) string { return yes(r.Bold) }},
	{"italic", func(r provider.Run) string { return yes(r.Italic) }},
	{"strikethrough", func(r provider.Run) string { return yes(r.Strike) }},
}

func yes(has bool) string {
	if has {
		return "yes"
	}
	return ""
}

// Styles implements [provider.Styler]. A link leads to the web, to a host whose name has a
// dot: Telegram refuses others, and makes addresses of mail in a text links by itself.
func (s *Sender) Styles(span botmesh.Span) bool {
	if span.Style != botmesh.StyleLink {
		return true
	}
	at, err := url.Parse(span.URL)
	return err == nil && (at.Scheme == "http" || at.Scheme == "https") && strings.ContainsAny(at.Hostname(), ".:")
}

// entities are the styles of a text. One is within another or apart from it.
func entities(send botmesh.Send) []entity {
	if len(send.Spans) == 0 {
		return nil
	}
	return nested(provider.Runs(send), 0, entityTypes)
}

// nested are the entities of some types in runs that begin at a place of the text. None
// begins or ends with white space, which Telegram would leave out of it.
func nested(runs []provider.Run, at int, types []entityType) (all []entity) {
	if len(types) == 0 {
		return nil
	}
	for n := 0; len(runs) > 0; runs = runs[n:] {
		has := types[0].of(runs[0])
		var text strings.Builder
		for n = 0; n < len(runs) && types[0].of(runs[n]) == has; n++ {
			text.WriteString(runs[n].Text)
		}
		whole := text.String()
		shown := strings.TrimLeftFunc(whole, unicode.IsSpace)
		begin := at + splitter.Unit.Len(strings.TrimSuffix(whole, shown))
		if shown = strings.TrimSpace(shown); has != "" && shown != "" {
			e := entity{Type: types[0].name, Offset: begin, Length: splitter.Unit.Len(shown)}
			if e.Type == "text_link" {
				e.URL = has
			}
			all = append(all, e)
		}
		all = append(all, nested(runs[:n], at, types[1:])...)
		at += splitter.Unit.Len(whole)
	}
	return all
}

// size is how long a text with its spans is, in the unit of which Telegram takes [MaxText].
func size(send botmesh.Send) int {
	return max(splitter.Unit.Len(send.Text), len(entities(send))*MaxText/maxEntities)
}

// write makes a send's text that of msg, or the caption of its file.
func (msg *outgoing) write(send botmesh.Send) {
	if send.Media == nil {
		msg.Text, msg.Entities = send.Text, entities(send)
	} else {
		msg.Caption, msg.CaptionEntities = send.Text, entities(send)
	}
}

// unstyled is what is sent where Telegram does not take the spans of a send.
func unstyled(send botmesh.Send) botmesh.Send {
	most := MaxText
	if send.Media != nil {
		most = MaxCaption
	}
	plain := provider.Plain(send)
	if splitter.Unit.Len(plain.Text) > most {
		plain.Text = send.Text
	}
	return plain
}
