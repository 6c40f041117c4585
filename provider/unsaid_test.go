package provider

import (
	"errors"
	"testing"

	"github.com/botmesh-go/botmesh"
)

// What a platform repeats of a message is in no log, in whatever form it was sent, and what
// its answer means stays. A word that short is in any answer.
//
// SPEC: W2
func TestWhatAPlatformRepeatsIsNotTold(t *testing.T) {
	t.Parallel()
	linked := botmesh.Send{Text: "reset it here, Ada", Spans: []botmesh.Span{
		{To: 5, Style: botmesh.StyleBold}, {From: 9, To: 13, Style: botmesh.StyleLink, URL: "https://example.org/?token=s3cret"},
	}}
	for _, c := range []struct {
		said         botmesh.Send
		answer, want string
	}{
		{botmesh.Send{Text: "my number is 4711"}, `400 can't parse "my number is 4711"`, `400 can't parse "<text>"`},
		{botmesh.Send{Text: "my number is 4711\n"}, `400 can't parse "my number is 4711"`, `400 can't parse "<text>"`},
		{botmesh.Send{Text: "my number is 4711"}, "403 blocked", "403 blocked"},
		{botmesh.Send{Text: "400"}, "400 no", "400 no"},
		{botmesh.Send{}, "400 no", "400 no"},
		{linked, "400 wrong text: reset it here, Ada", "400 wrong text: <text>"},
		{linked, "400 wrong text: reset it here (https://example.org/?token=s3cret), Ada", "400 wrong text: <text>"},
		{linked, "400 URL https://example.org/?token=s3cret is invalid", "400 URL <text> is invalid"},
		{botmesh.Send{Media: &botmesh.Media{URL: "https://example.org/a.png", Ref: "ref-1"}}, "400 https://example.org/a.png ref-1", "400 <text> <text>"},
		{botmesh.Send{Buttons: [][]botmesh.Button{{{Label: "Pay Ada", Payload: "pay:4711"}}}}, "400 button 'Pay Ada' with pay:4711", "400 button '<text>' with <text>"},
	} {
		err := Unsaid(Permanent(errors.New(c.answer)), c.said)
		if err.Error() != c.want || !IsPermanent(err) {
			t.Errorf("got %v, permanent %v, want %s for good", err, IsPermanent(err), c.want)
		}
	}
	if err := Unsaid(nil, linked); err != nil {
		t.Errorf("got %v of no error", err)
	}
}
