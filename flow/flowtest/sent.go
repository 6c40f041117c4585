package flowtest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/botmesh-go/botmesh"
)

// File has the user send a file of a kind ("image", "document", …), without a word. Its
// name, type and size are m's; what the bot reads of it with [flow.Turn.Open] is content.
// A file that a record of [Player.Record] refers to is gone.
func (p *Player) File(m botmesh.Media, content string) *Player {
	p.t.Helper()
	if m.Ref == "" {
		m.Ref = fmt.Sprintf("file-%d", len(p.chat.files)+1)
	}
	if m.Size == 0 {
		m.Size = int64(len(content))
	}
	if p.chat.files == nil {
		p.chat.files = map[string]string{}
	}
	p.chat.files[m.Ref] = content
	return p.Record(botmesh.Record{Type: botmesh.TypeMessage, Message: botmesh.Message{Media: []botmesh.Media{m}}})
}

// SendFailed tells the bot that the platform refused the message that was looked at last, as
// it is told with [bot.Bot.OnSendFailed]. What f leaves out is filled in: the part, its Send,
// one try and an error.
func (p *Player) SendFailed(f botmesh.Failure) *Player {
	p.t.Helper()
	if p.last.Shown() == "" {
		p.t.Fatal("a send failed: got no message of the bot's that was looked at, want one")
	}
	if f.Send.Shown() == "" {
		f.Send = p.last
	}
	f.Part = cmp.Or(f.Part, botmesh.LetterID(played, "test", p.chat.seq)+"/0.0")
	f.Tries, f.Error = cmp.Or(f.Tries, 1), cmp.Or(f.Error, "refused")
	return p.Record(botmesh.Record{Type: botmesh.TypeEvent, Failed: &f})
}

// Spans looks at how the message that was looked at last is formatted: exactly these spans,
// in this order.
func (p *Player) Spans(want ...botmesh.Span) *Player {
	p.t.Helper()
	if got := p.last.Spans; !slices.Equal(got, want) {
		p.t.Fatalf("the spans of %q: got %+v, want %+v", p.last.Text, got, want)
	}
	return p
}

// open reads a file that the user sent.
func (c *chat) open(ctx context.Context, _ botmesh.ChatKey, m botmesh.Media) (*botmesh.File, error) {
	content, ok := c.files[m.Ref]
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case !ok:
		return nil, fmt.Errorf("%w: no file %q was sent", botmesh.ErrFileGone, m.Ref)
	}
	return &botmesh.File{ReadCloser: io.NopCloser(strings.NewReader(content)), Name: m.Name, Type: m.Type, Size: int64(len(content))}, nil
}

// valid is o, if all that it sends can be sent.
func valid(o botmesh.Outcome) (botmesh.Outcome, error) {
	sends := slices.Clone(o.Sends)
	for _, c := range o.Commands {
		sends = append(sends, c.Sends...)
	}
	for _, s := range sends {
		if err := s.Validate(); err != nil {
			return botmesh.Outcome{}, err
		}
	}
	return o, nil
}
