package provider_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// narrow is a platform of texts of up to 60 bytes, with numbered lines for buttons.
type narrow struct{ provider.Sender }

func (narrow) ID() string { return "narrow" }
func (narrow) Split(s botmesh.Send) []botmesh.Send {
	return provider.Parts(provider.Splitter{Unit: provider.Bytes, Max: 60}.Split(provider.Numbered(s).Text), nil)
}

// album is a platform that takes images by address.
type album struct{ narrow }

func (album) Attaches(m botmesh.Media) bool { return m.Kind == botmesh.MediaImage && m.URL != "" }
func (album) Split(s botmesh.Send) []botmesh.Send {
	return provider.Above(s.Media, provider.Parts([]string{s.Text}, s.Buttons))
}

func TestSplitWritesWhatThePlatformDoesNotTakeAsALink(t *testing.T) {
	t.Parallel()
	const at = "https://example.org/a/quite/long/way/to/menu.png" // 48 bytes
	image, other := &botmesh.Media{Kind: botmesh.MediaImage, URL: at}, &botmesh.Media{Kind: botmesh.MediaDocument, URL: at}
	named := &botmesh.Media{Kind: botmesh.MediaDocument, URL: at, Name: "menu.png"}
	buttons := [][]botmesh.Button{{{Label: "Yes", Payload: "y"}}}
	odd := *named
	odd.Name = "a\u202e\nb\xff.png"
	long := "as long as it is"
	for name, c := range map[string]struct {
		s    provider.Sender
		send botmesh.Send
		want []botmesh.Send
	}{
		"no file":          {album{}, botmesh.Send{Text: "Menu"}, []botmesh.Send{{}, {Text: "Menu"}}}, // its own Split
		"taken":            {album{}, botmesh.Send{Text: "Menu", Media: image}, []botmesh.Send{{Media: image}, {Text: "Menu"}}},
		"none taken":       {narrow{}, botmesh.Send{Text: "Menu", Media: image}, []botmesh.Send{{Text: "Menu\n" + at}}},
		"not of this kind": {narrow{}, botmesh.Send{Text: "Menu", Media: other}, []botmesh.Send{{Text: "Menu\n" + at}}},
		"oddly named":      {narrow{}, botmesh.Send{Media: &odd}, []botmesh.Send{{Text: "a b.png: " + at}}},
		"alone":            {narrow{}, botmesh.Send{Media: named}, []botmesh.Send{{Text: "menu.png: " + at}}},
		"too long":         {narrow{}, botmesh.Send{Text: long, Media: other}, []botmesh.Send{{Text: long}, {Text: at}}},
		"buttons":          {narrow{}, botmesh.Send{Text: long, Media: other, Buttons: buttons}, []botmesh.Send{{Text: long}, {Text: at + "\n\n1. Yes"}}},
	} {
		got, err := provider.Split(c.s, c.send)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: got error %v, parts (-want +got):\n%s", name, err, diff)
		}
	}
}

// A name that is too long is cut between characters, and the bot's own stays as it is.
func TestSplitCutsNames(t *testing.T) {
	t.Parallel()
	m := botmesh.Media{Kind: botmesh.MediaImage, URL: "https://example.org/", Name: strings.Repeat("é", 200)}
	got, err := provider.Split(album{}, botmesh.Send{Media: &m})
	if err != nil || got[0].Media.Name != strings.Repeat("é", 127) || len(m.Name) != 400 {
		t.Errorf("got %+v, error %v, want a name of 254 bytes", got, err)
	}
}

func TestSplitRefusesWhatCanNotBeSent(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]botmesh.Media{
		"want its URL":    {Kind: botmesh.MediaImage, Ref: "AgAC"},
		"http:// or http": {Kind: botmesh.MediaImage, URL: "ftp://example.org"},
	} {
		if got, err := provider.Split(album{}, botmesh.Send{Text: "x", Media: &m}); err == nil || !strings.Contains(err.Error(), want) || got != nil {
			t.Errorf("got %v, error %v, want one with %q", got, err, want)
		}
	}
}
