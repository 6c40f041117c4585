package check_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// The parser of Prometheus itself, not of this house: what it takes, a server takes.
var promQL = parser.NewParser(parser.Options{})

// query reads one query as Prometheus does, and finds what it names and there is not.
type query struct {
	known map[string]map[string][]string // labels of each metric, and their values
	bad   []string
}

// unknown is what a query names and there is not: metrics, labels and their values;
// what it groups or matches by that the metrics below do not have. Labels are those
// that its result has.
func unknown(text string, known map[string]map[string][]string) (result, bad []string) {
	expr, err := promQL.ParseExpr(strings.ReplaceAll(text, "$__rate_interval", "5m"))
	if err != nil {
		return nil, []string{err.Error()}
	}
	q := &query{known: known}
	return q.labels(expr), q.bad
}

func (q *query) miss(format string, args ...any) { q.bad = append(q.bad, fmt.Sprintf(format, args...)) }

// labels are those of an expression's result, in the order of the alphabet.
func (q *query) labels(expr parser.Expr) []string {
	switch e := expr.(type) {
	case *parser.VectorSelector:
		return q.selected(e)
	case *parser.AggregateExpr:
		return q.aggregated(e)
	case *parser.BinaryExpr:
		return q.joined(e)
	case *parser.Call:
		var of []string
		for _, arg := range e.Args {
			of = append(of, q.labels(arg)...)
		}
		switch e.Func.Name {
		case "absent":
			return nil
		case "histogram_quantile":
			if !slices.Contains(of, "le") {
				q.miss("%s without le", e.Func.Name)
			}
			return slices.DeleteFunc(of, func(l string) bool { return l == "le" })
		}
		return of
	case *parser.MatrixSelector:
		return q.labels(e.VectorSelector)
	case *parser.SubqueryExpr:
		return q.labels(e.Expr)
	case *parser.ParenExpr:
		return q.labels(e.Expr)
	case *parser.NumberLiteral:
		return nil
	}
	q.miss("%T, which this test does not know", expr)
	return nil
}

func (q *query) selected(e *parser.VectorSelector) []string {
	of, ok := q.known[e.Name]
	if !ok {
		q.miss("%s", e.Name)
		return nil
	}
	for _, m := range e.LabelMatchers {
		if m.Name == "__name__" {
			continue
		}
		values, ok := of[m.Name]
		if !ok {
			q.miss("%s by %s", e.Name, m.Name)
			continue
		}
		for value := range strings.SplitSeq(m.Value, "|") {
			if values != nil && !slices.Contains(values, value) {
				q.miss("%s %s", m.Name, value)
			}
		}
	}
	has := slices.Collect(maps.Keys(of))
	if strings.HasSuffix(e.Name, "_bucket") {
		has = append(has, "le")
	}
	slices.Sort(has)
	return has
}

func (q *query) aggregated(e *parser.AggregateExpr) []string {
	of := q.labels(e.Expr)
	for _, by := range e.Grouping {
		if !slices.Contains(of, by) {
			q.miss("by %s", by)
		}
	}
	if e.Without {
		return slices.DeleteFunc(of, func(l string) bool { return slices.Contains(e.Grouping, l) })
	}
	return slices.Sorted(slices.Values(e.Grouping))
}

// joined is what an operator makes of both sides. Those with other labels than each
// other never meet, and such a query has no result.
func (q *query) joined(e *parser.BinaryExpr) []string {
	left, right := q.labels(e.LHS), q.labels(e.RHS)
	switch {
	case e.VectorMatching == nil: // a number on one side, or on both
		return append(left, right...)
	case e.VectorMatching.On || len(e.VectorMatching.MatchingLabels) > 0:
		q.miss("on or ignoring, which this test does not know")
	case !slices.Equal(left, right):
		q.miss("%q %s %q", left, e.Op, right)
	}
	return left
}

func TestUnknownFindsWhatIsNotThere(t *testing.T) {
	t.Parallel()
	known := map[string]map[string][]string{
		"bot_a_total":          {"outcome": {"good", "bad"}, "bot_provider": nil},
		"bot_b_seconds_bucket": {},
		"bot_c":                {"reason": nil},
		"bot_d":                {},
	}
	for query, want := range map[string][]string{
		`sum by (bot_provider) (rate(bot_a_total{outcome=~"good|bad"}[5m])) > 0`: nil,
		`histogram_quantile(0.9, sum by (le) (rate(bot_b_seconds_bucket[5m])))`:  nil,
		`sum(bot_a_total) > 0 unless sum(bot_d) > 0`:                             nil,
		`sum(bot_x_total + bot_d{bot_provider="bot_y"})`:                         {"bot_x_total", "bot_d by bot_provider"},
		`sum by (reason) (bot_a_total)`:                                          {"by reason"},
		`sum by (le) (bot_a_total)`:                                              {"by le"},
		`bot_a_total{kind="x"} > 1`:                                              {"bot_a_total by kind"},
		`bot_a_total{outcome!="good|ugly"}`:                                      {"outcome ugly"},
		// Another metric of the query has the label, and this one does not.
		`sum by (reason) (bot_c) > sum(sum by (reason) (bot_d))`:             {"by reason", `["reason"] > []`},
		`sum by (bot_provider) (bot_a_total) > sum by (reason) (bot_c)`:      {`["bot_provider"] > ["reason"]`},
		`sum by (reason) (sum by (bot_provider) (bot_a_total))`:              {"by reason"},
		`histogram_quantile(0.9, sum(rate(bot_b_seconds_bucket[5m])))`:       {"histogram_quantile without le"},
		`sum by (outcome) (bot_a_total{outcome="good", bot_provider="any"})`: nil,
	} {
		if _, got := unknown(query, known); !slices.Equal(got, want) {
			t.Errorf("unknown(%s): got %q, want %q", query, got, want)
		}
	}
	if _, bad := unknown(`sum by (`, known); bad == nil {
		t.Error("got no word of a query that can not be read")
	}
}
