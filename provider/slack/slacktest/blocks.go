package slacktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// block is a part of a message. Elements are buttons, or the stretches of a rich text.
type block struct {
	Type     string          `json:"type"`
	Image    string          `json:"image_url"`
	Alt      string          `json:"alt_text"`
	Text     *text           `json:"text"`
	Elements json.RawMessage `json:"elements"`
}

type text struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type element struct {
	Type  string `json:"type"`
	Text  text   `json:"text"`
	ID    string `json:"action_id"`
	Value string `json:"value"`
}

// stretch is lines of a rich text, of the types that are known here.
type stretch struct {
	Type     string   `json:"type"`
	Elements []phrase `json:"elements"`
}

type phrase struct {
	Type  string  `json:"type"`
	Text  *string `json:"text"`
	URL   string  `json:"url"`
	Style style   `json:"style"`
}

// style holds what is documented of all phrases, and code, which is not for links.
type style struct {
	Bold      bool `json:"bold"`
	Italic    bool `json:"italic"`
	Strike    bool `json:"strike"`
	Underline bool `json:"underline"`
	Code      bool `json:"code"`
}

// buttons are the elements of actions.
func (b *block) buttons() (all []element, ok bool) {
	if b.Type != "actions" {
		return nil, true
	}
	return all, json.Unmarshal(b.Elements, &all) == nil
}

// rich are the elements of a rich text.
func (b *block) rich() (all []stretch, err error) {
	if b.Type != "rich_text" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(b.Elements))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.Type != "rich_text_section" && s.Type != "rich_text_preformatted" {
			return nil, fmt.Errorf("unknown type %q", s.Type)
		}
		for _, p := range s.Elements {
			if err := p.check(s.Type); err != nil {
				return nil, err
			}
		}
		if len(s.Elements) == 0 {
			return nil, fmt.Errorf("no elements in %s", s.Type)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no elements in %s", b.Type)
	}
	return all, nil
}

// check says what is wrong with a phrase. How long one may be is not documented; here it
// is as long as any other text in a block.
func (p phrase) check(in string) error {
	switch {
	case p.Text != nil && (*p.Text == "" || utf8.RuneCountInString(*p.Text) > maxText):
		return fmt.Errorf("a text of %d bytes", len(*p.Text))
	case p.Type == "text" && p.Text != nil && p.URL == "":
		return nil
	case p.Type != "link" || in != "rich_text_section" || p.Style.Code:
		return fmt.Errorf("a %s that is none", p.Type)
	}
	at, err := url.Parse(p.URL)
	if err != nil || at.Scheme == "" || utf8.RuneCountInString(p.URL) > maxText {
		return fmt.Errorf("no link's address %q", p.URL)
	}
	return nil
}

// said is what a user reads in a block.
func (b *block) said() string {
	if b.Type == "section" && b.Text != nil {
		return b.Text.Text
	}
	var lines []string
	all, _ := b.rich() // a message that is refused says nothing
	for _, s := range all {
		var line strings.Builder
		for _, p := range s.Elements {
			if p.Text == nil {
				p.Text = &p.URL
			}
			line.WriteString(*p.Text)
		}
		lines = append(lines, line.String())
	}
	return strings.Join(lines, "\n")
}

const (
	maxText   = 3000
	maxBlocks = 13200 // characters of the blocks of a message together, as was measured
)

// blocksFault is the code of what Slack has against the blocks; empty for nothing.
func (o *outgoing) blocksFault() string {
	ids := map[string]bool{}
	for _, b := range o.Blocks {
		buttons, ok := b.buttons()
		_, err := b.rich()
		switch {
		case !ok, err != nil,
			b.Type == "image" && (!fetched(b.Image) || !within(b.Alt, 2000)),
			b.Type == "section" && (b.Text == nil || !within(b.Text.Text, maxText)),
			b.Type == "actions" && (len(buttons) < 1 || len(buttons) > 25):
			return "invalid_blocks"
		}
		for _, e := range buttons {
			if !within(e.Text.Text, 75) || !within(e.Value, 2000) || ids[e.ID] {
				return "invalid_blocks"
			}
			ids[e.ID] = true
		}
	}
	return ""
}

// tooLong reports whether the blocks are too long together.
func tooLong(body []byte) bool {
	var o struct{ Blocks []any }
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	return json.Unmarshal(body, &o) == nil && e.Encode(o.Blocks) == nil && utf8.RuneCount(out.Bytes()) > maxBlocks
}
