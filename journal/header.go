package journal

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/botmesh-go/botmesh"
)

// Headers of a journaled record. Text from outside stands in them escaped.
const (
	headerMsgID     = nats.MsgIdHdr // bot:provider:id, by which the stream knows a repetition
	headerType      = "Bot-Type"
	headerID        = "Bot-Id"   // the id, where there is no message id: fired timers, dead letters
	headerChat      = "Bot-Chat" // the written key, where the subject's token is a hash
	headerTimer     = "Bot-Timer"
	headerUser      = "Bot-User"
	headerSentAt    = "Bot-Sent-At"
	headerHops      = "Bot-Hops"
	headerRequeueOf = "Bot-Requeue-Of"
	headerReplayOf  = "Bot-Replay-Of"
	headerParent    = "traceparent"
	headerState     = "tracestate"
)

// escapeHeader writes s as visible ASCII: every other byte and "%" become "%XX",
// so that a value can not end its header line and comes back as it was.
func escapeHeader(s string) string {
	const hex = "0123456789ABCDEF"
	clean := func(c byte) bool { return c > ' ' && c < 0x7f && c != '%' }
	i := 0
	for i < len(s) && clean(s[i]) {
		i++
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; clean(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

func setText(h nats.Header, key, s string) {
	if s != "" {
		h.Set(key, escapeHeader(s))
	}
}

// fields reads headers and remembers the first one that could not be read.
type fields struct {
	h   nats.Header
	err error
}

func (f *fields) fail(key string, err error) {
	if f.err == nil {
		f.err = fmt.Errorf("header %s: %w", key, err)
	}
}

func (f *fields) text(key string) string {
	s, err := url.PathUnescape(f.h.Get(key))
	if err != nil {
		f.fail(key, err)
	}
	return s
}

func (f *fields) number(key string) int {
	s := f.h.Get(key)
	if s == "" {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		f.fail(key, err)
	}
	return int(n)
}

func (f *fields) sequence(key string) uint64 {
	s := f.h.Get(key)
	if s == "" {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		f.fail(key, err)
	}
	return n
}

func (f *fields) time(key string) time.Time {
	s := f.h.Get(key)
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		f.fail(key, err)
	}
	return t
}

// id is the platform's id of the record: behind bot and provider in the message
// id, or by itself.
func (f *fields) id(bot, provider string) string {
	if f.h.Get(headerMsgID) == "" {
		return f.text(headerID)
	}
	id, ok := strings.CutPrefix(f.text(headerMsgID), bot+":"+provider+":")
	if !ok {
		f.fail(headerMsgID, fmt.Errorf("want %s:%s: and an id", bot, provider))
	}
	return id
}

func (f *fields) trace() map[string]string {
	var m map[string]string
	for _, key := range [...]string{headerParent, headerState} {
		if v := f.h.Get(key); v != "" {
			if m == nil {
				m = make(map[string]string, 2)
			}
			m[key] = v
		}
	}
	return m
}

// setTrace leaves out what can not be a trace context.
func setTrace(h nats.Header, trace map[string]string) {
	const longest = 512 // W3C's bound of a tracestate
	odd := func(r rune) bool { return r < ' ' || r > '~' }
	for _, key := range [...]string{headerParent, headerState} {
		if v := trace[key]; v != "" && len(v) <= longest && !strings.ContainsFunc(v, odd) {
			h.Set(key, v)
		}
	}
}

// typeOf keeps the types that this build knows; any other is an event.
func typeOf(s string) botmesh.RecordType {
	switch t := botmesh.RecordType(s); t {
	case botmesh.TypeMessage, botmesh.TypeCallback, botmesh.TypeEdit, botmesh.TypeDelete, botmesh.TypeReaction,
		botmesh.TypeStatus, botmesh.TypeMembership, botmesh.TypeOptOut, botmesh.TypeOptIn, botmesh.TypeCommand, botmesh.TypeTimer:
		return t
	}
	return botmesh.TypeEvent
}
