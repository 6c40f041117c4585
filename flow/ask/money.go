package ask

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/botmesh-go/botmesh"
)

// Amount is an amount of money, in the smallest unit of its currency: cents of EUR
// and USD, whole JPY, thousandths of KWD.
type Amount struct {
	Minor    int64  `json:"minor"`
	Currency string `json:"currency"` // as ISO 4217 writes it: "EUR"
}

// String writes a with its currency: "12.50 EUR".
func (a Amount) String() string { return decimal(a.Minor, digitsOf(a.Currency)) + " " + a.Currency }

// MoneyQuestion takes an amount of money.
type MoneyQuestion struct {
	currency string
	min, max int64
}

// Money takes an amount in a currency, which ISO 4217 names: "EUR". It must not be
// negative.
func Money(currency string) MoneyQuestion {
	return MoneyQuestion{currency: currency, max: math.MaxInt64}
}

// Range bounds the amount, in the smallest unit of the currency; both ends are
// allowed.
func (q MoneyQuestion) Range(min, max int64) MoneyQuestion {
	q.min, q.max = min, max
	return q
}

// signs are those of currencies, as people write them.
var signs = map[string]string{"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥", "INR": "₹", "CHF": "Fr."}

// Parse reads an answer: "12", "12.5", "12,50", "1.234,50", "1,234.50", with the
// currency before or after it or without.
func (q MoneyQuestion) Parse(m botmesh.Message) (Amount, error) {
	text := strings.ToUpper(strings.TrimSpace(m.Text))
	for _, name := range []string{q.currency, strings.ToUpper(signs[q.currency])} {
		if name != "" {
			text = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, name), name))
		}
	}
	minor, ok := parseDecimal(text, digitsOf(q.currency))
	switch {
	case ok && q.min <= minor && minor <= q.max:
		return Amount{minor, q.currency}, nil
	case q.max < math.MaxInt64:
		return Amount{}, hint("Please send an amount from %s to %s.", decimal(q.min, digitsOf(q.currency)), Amount{q.max, q.currency})
	case q.min > 0:
		return Amount{}, hint("Please send an amount from %s up.", Amount{q.min, q.currency})
	}
	return Amount{}, hint("Please send an amount, such as %s.", Amount{int64(12.5 * math.Pow10(digitsOf(q.currency))), q.currency})
}

// Spec is "money" and the currency.
func (q MoneyQuestion) Spec() string { return "money(" + q.currency + ")" }

// Buttons is nil.
func (MoneyQuestion) Buttons() [][]botmesh.Button { return nil }

// Validate says whether the currency is one, and the range holds an amount.
func (q MoneyQuestion) Validate() error {
	if len(q.currency) != 3 || strings.IndexFunc(q.currency, func(r rune) bool { return r < 'A' || r > 'Z' }) >= 0 {
		return fmt.Errorf("ask: currency %q is not three capital letters", q.currency)
	}
	if q.min < 0 || q.max < q.min {
		return fmt.Errorf("ask: no amount is in %d to %d", q.min, q.max)
	}
	return nil
}

// digitsOf is how many digits the smaller unit of a currency has.
func digitsOf(currency string) int {
	switch currency {
	case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF":
		return 0
	case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND":
		return 3
	}
	return 2
}

func decimal(minor int64, digits int) string {
	if digits == 0 {
		return strconv.FormatInt(minor, 10)
	}
	s := fmt.Sprintf("%0*d", digits+1, minor)
	return s[:len(s)-digits] + "." + s[len(s)-digits:]
}

// parseDecimal reads a number with at most so many digits after a point or comma.
// Groups of three digits may be parted by the other of the two, an apostrophe or a
// space.
func parseDecimal(text string, digits int) (minor int64, ok bool) {
	whole, fraction := text, ""
	if i := strings.LastIndexAny(text, ".,"); i >= 0 {
		after := len(text) - i - 1
		// A lone separator before three digits parts a group, unless the currency
		// has three digits itself.
		lone := strings.Count(text, text[i:i+1]) == 1 && !strings.ContainsAny(text[:i], ".,")
		grouped := after == 3 && (lone && digits != 3 || strings.Count(text, text[i:i+1]) > 1)
		if !grouped {
			whole, fraction = text[:i], text[i+1:]
			if after < 1 || after > digits || strings.Contains(whole, text[i:i+1]) {
				return 0, false
			}
		}
	}
	whole, ok = ungrouped(whole)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(whole+fraction+strings.Repeat("0", digits-len(fraction)), 10, 63)
	return int64(n), err == nil
}

// ungrouped takes out what parts groups of three digits, the same everywhere.
func ungrouped(s string) (string, bool) {
	groups := strings.FieldsFunc(s, func(r rune) bool { return r == '.' || r == ',' || r == '\'' || r == '’' || unicode.IsSpace(r) })
	for i, g := range groups {
		if i > 0 && len(g) != 3 || i == 0 && len(groups) > 1 && len(g) > 3 {
			return "", false
		}
	}
	return strings.Join(groups, ""), len(groups) > 0
}
