package flow

import "github.com/botmesh-go/botmesh"

// Stream is one message that the user sees while its text is not known yet. See
// [Turn.Stream].
type Stream struct {
	t    *Turn
	send int // among the turn's sends, -1 in a script that runs again
}

// Stream sends a text at once, such as "…", and returns the message, which then gets
// another text: what it was last set to when the run ends well. That is committed with the
// run, so whatever crashes the user ends with the right text. The message is edited where
// the platform can; elsewhere, or if the first text did not go out, the last one is a
// message of its own, as is what a script sets after a question. A message that is not set
// stays as it is. A repeated run goes on with the message of the earlier one.
//
// What it is set to before is shown meanwhile, now and then and in part, without buttons;
// of a run that does not end well too.
//
// On error the handler must return, as of [Turn.SendNow].
func (t *Turn) Stream(text string) (*Stream, error) {
	s := &Stream{t: t, send: -1}
	if err := t.SendNow(botmesh.Send{Text: text, Grows: true}); err != nil || t.muted {
		return s, err
	}
	s.send = len(t.sends)
	t.sends = append(t.sends, botmesh.Send{Replaces: t.eager}) // its place, see unset
	return s, nil
}

// Set makes text what the message says in the end, with buttons below it if there are any.
// The last Set counts. It does not wait: call it with all there is of the text each time that
// there is more.
func (s *Stream) Set(text string, buttons ...[]botmesh.Button) {
	s.Show(botmesh.Send{Text: text, Buttons: buttons})
}

// Show is Set of a message with more than a text, such as one of package markdown.
func (s *Stream) Show(m botmesh.Send) {
	if s.t.muted {
		return // it was said by the run that asked the next question
	}
	if s.send < 0 {
		s.send = len(s.t.sends)
		s.t.sends = append(s.t.sends, botmesh.Send{})
	}
	m.Grows, m.Replaces = false, s.t.sends[s.send].Replaces
	s.t.sends[s.send] = m
	if signs, ok := s.t.midway.(botmesh.Signs); ok && m.Replaces > 0 && m.Text != "" {
		signs.Show(botmesh.Send{Text: m.Text, Spans: m.Spans, Replaces: m.Replaces})
	}
}

// unset reports whether a send is the place of a stream that says nothing else.
func unset(s botmesh.Send) bool { return s.Replaces > 0 && s.Text == "" && s.Media == nil }
