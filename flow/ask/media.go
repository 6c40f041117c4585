package ask

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/botmesh-go/botmesh"
)

// LocationQuestion takes a place.
type LocationQuestion struct{}

// Location takes a location that the user shares or, where a platform can not share
// one, its coordinates in degrees: "52.52, 13.405".
func Location() LocationQuestion { return LocationQuestion{} }

// Parse reads an answer.
func (LocationQuestion) Parse(m botmesh.Message) (botmesh.Location, error) {
	if m.Location != nil {
		return *m.Location, nil
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(m.Text), "geo:"), "?")
	north, east, ok := strings.Cut(text, ",")
	lat, wrongLat := strconv.ParseFloat(strings.TrimSpace(north), 64)
	lon, wrongLon := strconv.ParseFloat(strings.TrimSpace(east), 64)
	if !ok || wrongLat != nil || wrongLon != nil || !(-90 <= lat && lat <= 90) || !(-180 <= lon && lon <= 180) {
		return botmesh.Location{}, hint("Please share a location, or send its coordinates, such as 52.52, 13.405.")
	}
	return botmesh.Location{Latitude: lat, Longitude: lon}, nil
}

// Spec is "location".
func (LocationQuestion) Spec() string { return "location" }

// Buttons is nil.
func (LocationQuestion) Buttons() [][]botmesh.Button { return nil }

// MediaQuestion takes a message with files.
type MediaQuestion struct{ kinds []string }

// Media takes the files of one message, at least one, of given kinds or, without
// any, of all: "image", "video", "audio", "voice", "document", "sticker". Several
// messages, as which some platforms send an album, are several answers.
func Media(kinds ...string) MediaQuestion { return MediaQuestion{slices.Clone(kinds)} }

// Parse reads an answer.
func (q MediaQuestion) Parse(m botmesh.Message) ([]botmesh.Media, error) {
	of := func(f botmesh.Media) bool { return len(q.kinds) == 0 || slices.Contains(q.kinds, f.Kind) }
	if files := slices.DeleteFunc(slices.Clone(m.Media), func(f botmesh.Media) bool { return !of(f) }); len(files) > 0 {
		return files, nil
	}
	if len(q.kinds) == 0 {
		return nil, hint("Please send a file.")
	}
	return nil, hint("Please send a file of this kind: %s.", q.kinds)
}

// Spec is "media" and the kinds, in alphabetical order.
func (q MediaQuestion) Spec() string {
	return "media(" + strings.Join(slices.Sorted(slices.Values(q.kinds)), "|") + ")"
}

// Buttons is nil.
func (MediaQuestion) Buttons() [][]botmesh.Button { return nil }

// Validate says whether the kinds have names.
func (q MediaQuestion) Validate() error {
	if slices.Contains(q.kinds, "") {
		return errors.New("ask: a kind of media has no name")
	}
	return nil
}

// AnyQuestion takes whatever comes.
type AnyQuestion struct{}

// Any takes any message or press of a button, as it is.
func Any() AnyQuestion { return AnyQuestion{} }

// Parse takes it.
func (AnyQuestion) Parse(m botmesh.Message) (botmesh.Message, error) { return m, nil }

// Spec is "any".
func (AnyQuestion) Spec() string { return "any" }

// Buttons is nil.
func (AnyQuestion) Buttons() [][]botmesh.Button { return nil }
