package botmesh_test

import (
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh"
)

// What no platform could show, or would tell a password to others, is said before it is sent.
func TestSendValidate(t *testing.T) {
	t.Parallel()
	const ok = "https://example.org/menü.png?key=s3cret#page=2"
	for name, c := range map[string]struct {
		media botmesh.Media
		want  string // a word of the error, empty for none
	}{
		"by address":      {botmesh.Media{Kind: botmesh.MediaImage, URL: ok, Name: "Menü.png", Type: "image/png"}, ""},
		"by http":         {botmesh.Media{Kind: botmesh.MediaVoice, URL: "http://[::1]:80/v"}, ""},
		"by reference":    {botmesh.Media{Kind: botmesh.MediaSticker, Ref: "AgAC-_"}, ""},
		"a user's":        {botmesh.Media{Kind: botmesh.MediaDocument, Ref: "7", Name: "7", Type: "7", Size: 7}, ""},
		"a user's, named": {botmesh.Media{Kind: botmesh.MediaDocument, Ref: "7", Name: strings.Repeat("\n\xff", 999), Type: "\x00"}, ""},
		"no kind":         {botmesh.Media{URL: ok}, "kind"},
		"unknown kind":    {botmesh.Media{Kind: "photo", URL: ok}, "image, video"},
		"nothing":         {botmesh.Media{Kind: botmesh.MediaImage}, "Ref"},
		"both":            {botmesh.Media{Kind: botmesh.MediaImage, URL: ok, Ref: "a"}, "Ref"},
		"no address":      {botmesh.Media{Kind: botmesh.MediaImage, URL: "s3cret.png"}, "http"},
		"another scheme":  {botmesh.Media{Kind: botmesh.MediaImage, URL: "javascript:s3cret//example.org"}, "http"},
		"no host":         {botmesh.Media{Kind: botmesh.MediaImage, URL: "https:///s3cret"}, "host"},
		"a password":      {botmesh.Media{Kind: botmesh.MediaImage, URL: "https://u:s3cret@example.org/"}, "password"},
		"a user":          {botmesh.Media{Kind: botmesh.MediaImage, URL: "https://s3cret@example.org/"}, "password"},
		"a space":         {botmesh.Media{Kind: botmesh.MediaImage, URL: ok + " x"}, "escaped"},
		"a quote":         {botmesh.Media{Kind: botmesh.MediaImage, URL: ok + `"`}, "escaped"},
		"a tag":           {botmesh.Media{Kind: botmesh.MediaImage, URL: ok + "<b>"}, "escaped"},
		"a line":          {botmesh.Media{Kind: botmesh.MediaImage, URL: ok + "\u2028"}, "escaped"},
		"no UTF-8":        {botmesh.Media{Kind: botmesh.MediaImage, URL: ok + "\xff"}, "escaped"},
		"broken escape":   {botmesh.Media{Kind: botmesh.MediaImage, URL: "https://example.org/s3cret%zz"}, "escaped"},
		"long address":    {botmesh.Media{Kind: botmesh.MediaImage, URL: ok + strings.Repeat("x", 2048)}, "2048"},
		"long reference":  {botmesh.Media{Kind: botmesh.MediaImage, Ref: strings.Repeat("x", 2049)}, "Ref has"},
		"odd reference":   {botmesh.Media{Kind: botmesh.MediaImage, Ref: "a\nb"}, "Ref has"},
	} {
		err := botmesh.Send{Media: &c.media}.Validate()
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got error %v, want %q in it", name, err, c.want)
		case err != nil && strings.Contains(err.Error(), "s3cret"):
			t.Errorf("%s: got the address in %v, want it in no error", name, err)
		}
	}
	if err := (botmesh.Send{}).Validate(); err != nil {
		t.Errorf("no file: got error %v, want none", err)
	}
}

func TestSendShown(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]botmesh.Send{
		"hi ":                           {Text: "hi "},
		"(image https://example.org/) ": {Text: " ", Media: &botmesh.Media{Kind: botmesh.MediaImage, URL: "https://example.org/"}},
		"(voice f1)":                    {Media: &botmesh.Media{Kind: botmesh.MediaVoice, Ref: "f1"}},
		"(voice f1) hi":                 {Text: "hi", Media: &botmesh.Media{Kind: botmesh.MediaVoice, Ref: "f1"}},
	} {
		if got := s.Shown(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
