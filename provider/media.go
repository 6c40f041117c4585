package provider

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/botmesh-go/botmesh"
)

// Attacher is implemented by a Sender whose platform can be given files.
type Attacher interface {
	// Attaches reports whether the platform takes such a file: by its kind, and whether by
	// its address or a reference of the platform's own. Split and Call get no other; the
	// file is in the first part. That the platform can not fetch it, or has it no more, is
	// an error made by [Permanent], with the platform's word but not the address.
	Attaches(m botmesh.Media) bool
}

// Split cuts a send into the parts for a platform, see [Sender.Split]. A file that it does
// not take becomes a link below the text, in a part of its own if they are too long
// together, so that it is not cut. A text that is no UTF-8 is mended, see [botmesh.Send.InUTF8]. Spans are shared out among the parts, see [Styler].
//
// The error says what is wrong with the file or the spans, or that the platform does not take
// the file and it has no address.
func Split(s Sender, send botmesh.Send) ([]botmesh.Send, error) {
	if err := send.Validate(); err != nil {
		return nil, err
	}
	send = spell(s, send.InUTF8())
	parts, err := split(s, send)
	share(send, parts)
	return parts, err
}

// split cuts a send; no part has its spans yet.
func split(s Sender, send botmesh.Send) ([]botmesh.Send, error) {
	if send.Media == nil {
		return s.Split(send), nil
	}
	m := new(*send.Media)
	m.Name = line(m.Name)
	send.Media = m
	if a, ok := s.(Attacher); ok && a.Attaches(*m) {
		return s.Split(send), nil
	}
	if m.URL == "" {
		return nil, fmt.Errorf("provider: %s takes no file of kind %s by reference, want its URL", s.ID(), m.Kind)
	}
	link := m.URL
	if m.Name != "" {
		link = m.Name + ": " + link
	}
	if send.Text == "" {
		return s.Split(botmesh.Send{Text: link, Buttons: send.Buttons}), nil
	}
	if parts := s.Split(botmesh.Send{Text: send.Text + "\n" + link, Spans: send.Spans, Buttons: send.Buttons}); len(parts) == 1 {
		return parts, nil
	}
	return append(s.Split(botmesh.Send{Text: send.Text, Spans: send.Spans}), s.Split(botmesh.Send{Text: link, Buttons: send.Buttons})...), nil
}

// line makes one line, within the bound, of what somebody called a file.
func line(name string) string {
	name = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(name, ""), func(r rune) bool { return !unicode.IsPrint(r) }), " ")
	for len(name) > botmesh.MaxMediaName {
		_, n := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-n]
	}
	return name
}

// Above makes the file of s a part of its own, above others.
func Above(m *botmesh.Media, parts []botmesh.Send) []botmesh.Send {
	return append([]botmesh.Send{{Media: m}}, parts...)
}
