package telegramtest

import (
	"reflect"
	"slices"
	"time"
)

// take puts a message in the log and returns its id.
func (s *Server) take(o *outgoing, call int64) (int64, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	m := Message{ID: s.lastID, Chat: o.chat(), Text: o.Text + o.Caption, Media: o.media(), Buttons: o.Markup.Keyboard, At: time.Now(), Call: call}
	s.log = append(s.log, m)
	s.chats[m.Chat] = append(s.chats[m.Chat], m)
	s.tookLocked(m)
	return m.ID, ""
}

// edit changes a message of the log, and returns its id or what is against it.
func (s *Server) edit(o *outgoing, _ int64) (int64, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := func(m Message) bool { return m.ID == o.Message }
	i := slices.IndexFunc(s.log, of)
	if i < 0 {
		return 0, "message to edit not found"
	}
	m := s.log[i]
	if m.Text == o.Text && reflect.DeepEqual(m.Buttons, o.Markup.Keyboard) {
		return 0, "message is not modified"
	}
	m.Was, m.Text, m.Buttons = append(slices.Clone(m.Was), m.Text), o.Text, o.Markup.Keyboard
	s.log[i] = m
	chat := s.chats[m.Chat]
	chat[slices.IndexFunc(chat, of)] = m
	s.tookLocked(m)
	return m.ID, ""
}

// tookLocked tells of a message that was taken or edited.
func (s *Server) tookLocked(m Message) {
	if s.onTake != nil {
		s.onTake(m)
	}
	close(s.changed)
	s.changed = make(chan struct{})
}
