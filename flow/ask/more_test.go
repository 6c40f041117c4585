package ask_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/flow/ask"
)

var (
	_ flow.Question[ask.Amount]       = ask.MoneyQuestion{}
	_ flow.Question[ask.Day]          = ask.DateQuestion{}
	_ flow.Question[string]           = ask.EmailQuestion{}
	_ flow.Question[string]           = ask.PhoneQuestion{}
	_ flow.Question[[]size]           = ask.MultiQuestion[size]{}
	_ flow.Question[botmesh.Location] = ask.LocationQuestion{}
	_ flow.Question[botmesh.Contact]  = ask.ContactQuestion{}
	_ flow.Question[[]botmesh.Media]  = ask.MediaQuestion{}
	_ flow.Question[botmesh.Message]  = ask.AnyQuestion{}
)

// SPEC: H6. Every answer survives its encoding, so that a script can await it.
func TestAnswersCanBeKept(t *testing.T) {
	t.Parallel()
	for _, typ := range []reflect.Type{
		reflect.TypeFor[ask.Amount](), reflect.TypeFor[ask.Day](), reflect.TypeFor[botmesh.Location](),
		reflect.TypeFor[botmesh.Contact](), reflect.TypeFor[[]botmesh.Media](), reflect.TypeFor[botmesh.Message](),
	} {
		if _, err := flow.Schema(typ); err != nil {
			t.Errorf("%s: got error %v, want none", typ, err)
		}
	}
}

func TestMoney(t *testing.T) {
	t.Parallel()
	const any = "Please send an amount, such as 12.50 EUR."
	eur := func(cents int64) ask.Amount { return ask.Amount{Minor: cents, Currency: "EUR"} }
	check(t, ask.Money("EUR"), []answer[ask.Amount]{
		{said: "12", want: eur(1200)}, {said: " 12.5 ", want: eur(1250)}, {said: "12,50", want: eur(1250)},
		{said: "€12.50", want: eur(1250)}, {said: "12,50 €", want: eur(1250)}, {said: "eur 12", want: eur(1200)}, {said: "12EUR", want: eur(1200)},
		{said: "1.234,50", want: eur(123450)}, {said: "1,234.50", want: eur(123450)}, {said: "1 234,50", want: eur(123450)},
		{said: "1'234.50", want: eur(123450)}, {said: "1.234", want: eur(123400)}, {said: "1,234,567", want: eur(123456700)},
		{said: "0", want: eur(0)}, {said: "0.05", want: eur(5)}, {said: "92233720368547758.07", want: eur(math.MaxInt64)},
		{said: "", hint: any}, {said: "-1", hint: any}, {said: "12 USD", hint: any}, {said: "$12", hint: any}, {said: "1.2345", hint: any},
		{said: "1.2.3", hint: any}, {said: "1,23,456", hint: any}, {said: "1234.567.890", hint: any}, {said: "12.", hint: any}, {said: "€", hint: any},
		{said: "92233720368547758.08", hint: any}, {said: "1.+5", hint: any}, {said: "1,234.5.6", hint: any},
	})
	check(t, ask.Money("JPY"), []answer[ask.Amount]{
		{said: "¥1,200", want: ask.Amount{Minor: 1200, Currency: "JPY"}},
		{said: "12.5", hint: "Please send an amount, such as 12 JPY."},
	})
	check(t, ask.Money("KWD"), []answer[ask.Amount]{
		{said: "1.234", want: ask.Amount{Minor: 1234, Currency: "KWD"}},
		{said: "1,234.5", want: ask.Amount{Minor: 1234500, Currency: "KWD"}},
	})
	const bounds = "Please send an amount from 1.00 to 20.00 EUR."
	check(t, ask.Money("EUR").Range(100, 2000), []answer[ask.Amount]{
		{said: "1", want: eur(100)}, {said: "20", want: eur(2000)}, {said: "0.99", hint: bounds}, {said: "20.01", hint: bounds},
	})
	check(t, ask.Money("EUR").Range(5, math.MaxInt64), []answer[ask.Amount]{{said: "0", hint: "Please send an amount from 0.05 EUR up."}})
	for want, a := range map[string]ask.Amount{"0.05 EUR": eur(5), "12.50 EUR": eur(1250), "7 JPY": {Minor: 7, Currency: "JPY"}} {
		if got := a.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDate(t *testing.T) {
	t.Parallel()
	const any = "Please send a date, such as 2026-12-24."
	eve := ask.Day{Year: 2026, Month: time.December, Day: 24}
	var answers []answer[ask.Day]
	for _, s := range []string{
		"2026-12-24", " 2026/12/24 ", "24.12.2026", "24. 12. 2026", "24/12/2026", "24-12-2026", "24 Dec 2026", "24 december 2026", "Dec 24, 2026", "December  24 2026",
	} {
		answers = append(answers, answer[ask.Day]{said: s, want: eve})
	}
	for _, s := range []string{"", "tomorrow", "31.2.2026", "12/24/2026", "24.12.26", "2026-13-01"} {
		answers = append(answers, answer[ask.Day]{said: s, hint: any})
	}
	check(t, ask.Date(), answers)
	check(t, ask.Date().MonthFirst(), []answer[ask.Day]{{said: "12/24/2026", want: eve}, {said: "24/12/2026", hint: any}})

	day := func(d int) ask.Day { return ask.Day{Year: 2026, Month: time.May, Day: d} }
	const both = "Please send a date from 2026-05-02 to 2026-05-04."
	check(t, ask.Date().Between(day(2), day(4)), []answer[ask.Day]{
		{said: "2026-05-02", want: day(2)}, {said: "2026-05-04", want: day(4)}, {said: "2026-05-01", hint: both}, {said: "2026-05-05", hint: both},
	})
	check(t, ask.Date().Between(day(2), ask.Day{}), []answer[ask.Day]{{said: "2026-05-01", hint: "Please send a date from 2026-05-02 on."}, {said: "2026-05-03", want: day(3)}})
	check(t, ask.Date().Between(ask.Day{}, day(2)), []answer[ask.Day]{{said: "2026-05-03", hint: "Please send a date up to 2026-05-02."}, {said: "2026-05-01", want: day(1)}})
}

func TestDaysSurviveTheirEncoding(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]ask.Day{`"2026-05-02"`: {Year: 2026, Month: time.May, Day: 2}, `""`: {}} {
		b, err := json.Marshal(d)
		var back ask.Day
		if err != nil || string(b) != want || json.Unmarshal(b, &back) != nil || back != d {
			t.Errorf("got %s, %v, and back %v, want %s", b, err, back, want)
		}
	}
	if err := json.Unmarshal([]byte(`"2026-02-31"`), new(ask.Day)); err == nil {
		t.Error("a day that is none: got no error, want one")
	}
	zone := time.FixedZone("east", 3600)
	if got, want := (ask.Day{Year: 2026, Month: time.May, Day: 2}).In(zone), time.Date(2026, 5, 2, 0, 0, 0, 0, zone); !got.Equal(want) {
		t.Errorf("In: got %v, want %v", got, want)
	}
}

func TestEmail(t *testing.T) {
	t.Parallel()
	const hint = "Please send an e-mail address, such as ana@example.com."
	check(t, ask.Email(), []answer[string]{
		{said: " ana@example.com\n", want: "ana@example.com"}, {said: "Ana.B+x@Mail.Example.COM", want: "Ana.B+x@mail.example.com"},
		{said: "mailto:ana@example.com", want: "ana@example.com"},
		{said: "", hint: hint}, {said: "ana", hint: hint}, {said: "ana@", hint: hint}, {said: "ana@host", hint: hint}, {said: "ana@[1.2.3.4]", hint: hint},
		{said: "Ana <ana@example.com>", hint: hint}, {said: "<ana@example.com>", hint: hint}, {said: "a@b.c, d@e.f", hint: hint},
		{said: strings.Repeat("x", 250) + "@example.com", hint: hint},
	})
}

func TestPhone(t *testing.T) {
	t.Parallel()
	const hint = "Please send a phone number with its country code, such as +49 30 123456."
	check(t, ask.Phone(), []answer[string]{
		{said: "+49 30 123456", want: "+4930123456"}, {said: "0049 (30) 12-34-56", want: "+4930123456"}, {said: "+1.202.555.0100", want: "+12025550100"},
		{said: "030 123456", hint: hint}, {said: "+49 30", hint: hint}, {said: "+0 30 123456", hint: hint}, {said: "call me", hint: hint}, {said: "", hint: hint},
		{said: "+1234567890123456", hint: hint}, {said: "+49 30 12345x", hint: hint},
	})
	check(t, ask.Phone().Country("+49"), []answer[string]{
		{said: "030 123456", want: "+4930123456"}, {said: "+1 202 555 0100", want: "+12025550100"}, {said: "0", hint: hint},
	})
	if got, err := ask.Phone().Parse(botmesh.Message{Contact: &botmesh.Contact{Phone: "4930123456"}}); got != "+4930123456" || err != nil {
		t.Errorf("a contact: got %q, %v", got, err)
	}
}

func TestLocation(t *testing.T) {
	t.Parallel()
	const hint = "Please share a location, or send its coordinates, such as 52.52, 13.405."
	berlin := botmesh.Location{Latitude: 52.52, Longitude: 13.405}
	check(t, ask.Location(), []answer[botmesh.Location]{
		{said: "52.52, 13.405", want: berlin}, {said: "geo:52.52,13.405?z=9", want: berlin}, {said: "-90,-180", want: botmesh.Location{Latitude: -90, Longitude: -180}},
		{said: "", hint: hint}, {said: "52.52", hint: hint}, {said: "91,0", hint: hint}, {said: "0,181", hint: hint}, {said: "NaN,0", hint: hint}, {said: "Berlin, Germany", hint: hint},
	})
	if got, err := ask.Location().Parse(botmesh.Message{Location: &berlin}); got != berlin || err != nil {
		t.Errorf("a location: got %v, %v, want %v", got, err, berlin)
	}
}

func TestContact(t *testing.T) {
	t.Parallel()
	const hint = "Please share a contact, or send a phone number with its country code."
	check(t, ask.Contact(), []answer[botmesh.Contact]{{said: "+49 30 123456", want: botmesh.Contact{Phone: "+4930123456"}}, {said: "Ana", hint: hint}})
	ana := botmesh.Contact{Name: "Ana", User: "7"}
	if got, err := ask.Contact().Parse(botmesh.Message{Contact: &ana}); got != ana || err != nil {
		t.Errorf("a contact: got %v, %v, want %v", got, err, ana)
	}
	if got, err := ask.Contact().Parse(botmesh.Message{Contact: &botmesh.Contact{Name: "Ana"}}); err == nil {
		t.Errorf("a contact whom nothing reaches: got %v, want a hint", got)
	}
}

func TestMediaAndAny(t *testing.T) {
	t.Parallel()
	m := botmesh.Message{Text: "look", Media: []botmesh.Media{{Kind: "image", Ref: "1"}, {Kind: "video", Ref: "2"}}}
	for _, tt := range []struct {
		q    ask.MediaQuestion
		want []botmesh.Media
		hint string
	}{
		{q: ask.Media(), want: m.Media},
		{q: ask.Media("video", "audio"), want: m.Media[1:]},
		{q: ask.Media("audio", "voice"), hint: "Please send a file of this kind: audio, voice."},
	} {
		got, err := tt.q.Parse(m)
		if !cmp.Equal(got, tt.want) || (err == nil) != (tt.hint == "") || err != nil && err.Error() != tt.hint {
			t.Errorf("%s: got %v, %v, want %v, %q", tt.q.Spec(), got, err, tt.want, tt.hint)
		}
	}
	if _, err := ask.Media().Parse(botmesh.Message{Text: "look"}); err == nil || err.Error() != "Please send a file." {
		t.Errorf("no file: got %v, want a hint", err)
	}
	if got, err := ask.Any().Parse(m); err != nil || !cmp.Equal(got, m) {
		t.Errorf("any: got %v, %v, want the message", got, err)
	}
}

func TestMultiInWriting(t *testing.T) {
	t.Parallel()
	q := ask.Multi(small, medium, second).Labels("Small", "Medium one", "Two")
	for said, want := range map[string][]size{
		"s": {small}, "3, 1": {small, second}, "two;SMALL": {small, second}, "medium one": {medium}, "medium one, s": {small, medium},
		"1 3": {small, second}, "s\nm": {small, medium}, "s,s": {small}, "1 2": {small, second}, "1,m,3": {small, medium, second}, // "2" is a value
	} {
		if got, err := q.Parse(botmesh.Message{Text: said}); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q: got %v, %v, want %v", said, got, err, want)
		}
	}
	for _, said := range []string{"", "none", "s, x", "4", ","} {
		if got, err := q.Parse(botmesh.Message{Text: said}); err == nil || err.Error() != "Please choose some: Small, Medium one, Two." {
			t.Errorf("%q: got %v, %v, want a hint", said, got, err)
		}
	}
	for want, q := range map[string]ask.MultiQuestion[size]{
		"Please choose 2: s, m, 2.":          ask.Multi(small, medium, second).Between(2, 2),
		"Please choose 1 to 2: s, m, 2.":     ask.Multi(small, medium, second).Between(1, 2),
		"Please choose at least 2: s, m, 2.": ask.Multi(small, medium, second).Between(2, 3),
	} {
		for _, said := range []string{"s m 2 x", "x"} {
			if _, err := q.Parse(botmesh.Message{Text: said}); err == nil || err.Error() != want {
				t.Errorf("got %v, want hint %q", err, want)
			}
		}
	}
	if got, err := ask.Multi(small, medium).Between(0, 2).Parse(botmesh.Message{Text: "None"}); err != nil || len(got) != 0 {
		t.Errorf("none: got %v, %v", got, err)
	}
	if got, err := ask.Multi(small, medium).Between(1, 1).Parse(botmesh.Message{Text: "s m"}); err == nil {
		t.Errorf("too many: got %v, want a hint", got)
	}
}

// Buttons carry what is chosen so far, so that nothing is kept between two presses.
func TestMultiByButtons(t *testing.T) {
	t.Parallel()
	q := ask.Multi(small, medium, second).Between(1, 2).Done("Fertig")
	press := func(rows [][]botmesh.Button, label string) ([]size, [][]botmesh.Button) {
		t.Helper()
		for _, row := range rows {
			if row[0].Label != label {
				continue
			}
			got, err := q.Parse(botmesh.Message{Payload: row[0].Payload})
			var more *flow.More
			if errors.As(err, &more) {
				return nil, more.Buttons
			}
			if err != nil {
				t.Fatalf("%q: got error %v", label, err)
			}
			return got, nil
		}
		t.Fatalf("got buttons %v, want %q among them", rows, label)
		return nil, nil
	}
	labels := func(rows [][]botmesh.Button) (all []string) {
		for _, row := range rows {
			all = append(all, row[0].Label)
		}
		return all
	}
	rows := q.Buttons()
	for _, tt := range []struct {
		press string
		want  []string
	}{
		{"", []string{"s", "m", "2"}},
		{"2", []string{"s", "m", "✓ 2", "Fertig"}},
		{"s", []string{"✓ s", "✓ 2", "Fertig"}},
		{"✓ s", []string{"s", "m", "✓ 2", "Fertig"}},
		{"m", []string{"✓ m", "✓ 2", "Fertig"}},
	} {
		if tt.press != "" {
			_, rows = press(rows, tt.press)
		}
		if diff := cmp.Diff(tt.want, labels(rows)); diff != "" {
			t.Fatalf("after %q (-want +got):\n%s", tt.press, diff)
		}
	}
	if got, _ := press(rows, "Fertig"); !cmp.Equal(got, []size{medium, second}) {
		t.Errorf("got %v, want m and 2", got)
	}
	for _, payload := range []string{"+8", "=0", "=7", "=x", "+", "s"} {
		if got, err := q.Parse(botmesh.Message{Payload: payload}); err == nil || errors.As(err, new(*flow.More)) {
			t.Errorf("payload %q: got %v, %v, want a hint", payload, got, err)
		}
	}
}

// DESIGN §7: the kind of answer and its values, never wording, order or bounds.
func TestSpecsOfTheRest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ got, want string }{
		{ask.Money("EUR").Range(1, 2).Spec(), "money(EUR)"},
		{ask.Date().MonthFirst().Spec(), "date"},
		{ask.Email().Spec(), "email"},
		{ask.Phone().Country("49").Spec(), "phone"},
		{ask.Multi(small, medium).Labels("x", "y").Spec(), `multi("m"|"s")`},
		{ask.Location().Spec(), "location"},
		{ask.Contact().Spec(), "contact"},
		{ask.Media("video", "image").Spec(), "media(image|video)"},
		{ask.Any().Spec(), "any"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}

func TestMoreQuestionsThatCanNotBeAsked(t *testing.T) {
	t.Parallel()
	many := make([]size, 61)
	for i := range many {
		many[i] = size(rune('a' + i))
	}
	for name, q := range map[string]interface{ Validate() error }{
		"no currency":      ask.Money("eur"),
		"no amount":        ask.Money("EUR").Range(2, 1),
		"negative amounts": ask.Money("EUR").Range(-1, 1),
		"no day":           ask.Date().Between(ask.Day{Year: 2026, Month: 2, Day: 2}, ask.Day{Year: 2026, Month: 2, Day: 1}),
		"no country":       ask.Phone().Country("0"),
		"no kind":          ask.Media(""),
		"no values":        ask.Multi[size](),
		"too many values":  ask.Multi(many...),
		"too few values":   ask.Multi(small).Between(1, 2),
		"none at all":      ask.Multi(small).Between(0, 0),
		"a label twice":    ask.Multi(small, "done"),
	} {
		if err := q.Validate(); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
	}
	for name, q := range map[string]interface{ Validate() error }{
		"money": ask.Money("EUR").Range(1, 1),
		"date":  ask.Date().Between(ask.Day{}, ask.Day{Year: 2026, Month: 2, Day: 1}),
		"phone": ask.Phone().Country("+44"),
		"multi": ask.Multi(small, medium).Between(0, 2),
		"media": ask.Media("image"),
	} {
		if err := q.Validate(); err != nil {
			t.Errorf("%s: got error %v, want none", name, err)
		}
	}
}

// Whatever a user writes is an answer within its bounds, or gets a hint.
func FuzzParseMore(f *testing.F) {
	f.Add("1.234,50", "+3")
	f.Add("24. 12. 2026", "=1")
	f.Add("+49 30 123456", "")
	f.Fuzz(func(t *testing.T, text, payload string) {
		m := botmesh.Message{Text: text, Payload: payload}
		if a, err := ask.Money("EUR").Range(1, 500).Parse(m); err == nil && (a.Minor < 1 || a.Minor > 500) {
			t.Errorf("money of %q: got %v", text, a)
		}
		if d, err := ask.Date().Parse(m); err == nil {
			if again, err := ask.Date().Parse(botmesh.Message{Text: d.String()}); err != nil || again != d {
				t.Errorf("date of %q: got %v, and of that %v, %v", text, d, again, err)
			}
		}
		if n, err := ask.Phone().Country("49").Parse(m); err == nil && (len(n) < 8 || len(n) > 16) {
			t.Errorf("phone of %q: got %q", text, n)
		}
		if all, err := ask.Multi(small, medium, second).Between(1, 2).Parse(m); err == nil && (len(all) < 1 || len(all) > 2) {
			t.Errorf("multi of %q, %q: got %q", text, payload, all)
		}
		if e, err := ask.Email().Parse(m); err == nil && !strings.Contains(e, "@") {
			t.Errorf("email of %q: got %q", text, e)
		}
		_, _ = ask.Location().Parse(m)
		_, _ = ask.Contact().Parse(m)
	})
}
