package flow

import (
	"errors"
	"fmt"
	"strings"

	"github.com/botmesh-go/botmesh"
)

// Text is something to say in the language of whoever hears it: a format of package
// fmt and its arguments. An argument that is a Text, or a []string, is worded too. As
// the error of a [Question] it is what the user is told.
type Text struct {
	Format string
	Args   []any
}

// Error is the text as the code has it.
func (t Text) Error() string { return t.in(func(text string) string { return text }) }

// in is the text in a language.
func (t Text) in(words func(string) string) string {
	if len(t.Args) == 0 {
		return words(t.Format)
	}
	args := make([]any, len(t.Args))
	for i, arg := range t.Args {
		switch arg := arg.(type) {
		case Text:
			args[i] = arg.in(words)
		case []string:
			all := make([]string, len(arg))
			for j, s := range arg {
				all[j] = words(s)
			}
			args[i] = strings.Join(all, ", ")
		default:
			args[i] = arg
		}
	}
	return fmt.Sprintf(words(t.Format), args...)
}

// Speak makes words the language of the turn: from a text, or format, as the code has
// it to what is said. It is for those who run bots.
func (t *Turn) Speak(words func(text string) string) { t.words = words }

// T is a text in the language of the chat: looked up as it stands, and then formatted
// with the verbs of package fmt if there are arguments. Where nothing is found it stays
// as it is.
func (t *Turn) T(format string, args ...any) string {
	if t.words == nil {
		return Text{format, args}.Error()
	}
	return Text{format, args}.in(t.words)
}

// hint is what the user is told of an answer that was not understood.
func (t *Turn) hint(o *stepOptions, notUnderstood error) string {
	if o.hint != "" {
		return t.T(o.hint)
	}
	if text, ok := errors.AsType[Text](notUnderstood); ok {
		return t.T(text.Format, text.Args...)
	}
	return notUnderstood.Error()
}

// label is buttons with their labels in the language of the chat.
func (t *Turn) label(rows [][]botmesh.Button) [][]botmesh.Button {
	if t.words == nil {
		return rows
	}
	labelled := make([][]botmesh.Button, len(rows))
	for i, row := range rows {
		for _, b := range row {
			b.Label = t.words(b.Label)
			labelled[i] = append(labelled[i], b)
		}
	}
	return labelled
}

// unlabel takes a label that the user wrote in the language of the chat back to the one
// that the question knows.
func (t *Turn) unlabel(m botmesh.Message, rows [][]botmesh.Button) botmesh.Message {
	if t.words == nil {
		return m
	}
	for _, row := range rows {
		for _, b := range row {
			if strings.EqualFold(strings.TrimSpace(m.Text), t.words(b.Label)) {
				m.Text = b.Label
				return m
			}
		}
	}
	return m
}
