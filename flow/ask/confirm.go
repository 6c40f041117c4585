package ask

import (
	"errors"
	"slices"
	"strings"

	"github.com/botmesh-go/botmesh"
)

// ConfirmQuestion takes yes or no.
type ConfirmQuestion struct{ yes, no string }

// Confirm takes yes or no, by a button or in writing: the words of English and
// some other languages, their first letters where they are customary, a thumb up
// or down, 1 or 2.
func Confirm() ConfirmQuestion { return ConfirmQuestion{"Yes", "No"} }

// Labels sets what the two buttons say. Both are understood in writing too.
func (q ConfirmQuestion) Labels(yes, no string) ConfirmQuestion {
	q.yes, q.no = yes, no
	return q
}

// Payloads of the buttons.
const yes, no = "yes", "no"

// The words of English, Spanish, French, German and Dutch, Portuguese, Italian,
// Russian, Polish, Turkish, Arabic, Hindi, Indonesian, Chinese, Japanese and Korean.
// A word that says the opposite in another of them is in neither list.
var (
	yesWords = []string{
		"yes", "y", "yeah", "yep", "sure", "ok", "okay", "1", "👍", "✅",
		"sí", "si", "s", "oui", "ja", "j", "sim", "sì", "да", "tak", "evet",
		"نعم", "हाँ", "हां", "ya", "是", "是的", "好", "好的", "はい", "네", "예",
	}
	noWords = []string{
		"no", "n", "nope", "2", "👎", "❌",
		"non", "nein", "nee", "não", "nao", "нет", "nie", "hayır", "hayir",
		"لا", "नहीं", "tidak", "不", "不是", "不要", "否", "いいえ", "아니요", "아니오",
	}
)

// around is what may stand around a word: space, punctuation, the colour of a thumb.
const around = " \t\r\n.!,。！\ufe0f🏻🏼🏽🏾🏿"

// Parse reads an answer.
func (q ConfirmQuestion) Parse(m botmesh.Message) (bool, error) {
	said := strings.ToLower(strings.Trim(m.Text, around))
	switch {
	case m.Payload == yes, strings.EqualFold(said, q.yes):
		return true, nil
	case m.Payload == no, strings.EqualFold(said, q.no):
		return false, nil
	case slices.Contains(yesWords, said):
		return true, nil
	case slices.Contains(noWords, said):
		return false, nil
	}
	return false, hint("Please answer yes or no.")
}

// Spec is "confirm".
func (ConfirmQuestion) Spec() string { return "confirm" }

// Buttons is one row of two.
func (q ConfirmQuestion) Buttons() [][]botmesh.Button {
	return [][]botmesh.Button{{{Label: q.yes, Payload: yes}, {Label: q.no, Payload: no}}}
}

// Validate says whether both buttons have a label of their own.
func (q ConfirmQuestion) Validate() error {
	if q.yes == "" || q.no == "" || strings.EqualFold(q.yes, q.no) {
		return errors.New("ask: a confirmation wants two different labels")
	}
	return nil
}
