package deploy_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const runbooks = "https://github.com/botmesh-go/botmesh/blob/main/docs/runbooks.md#"

type alert struct {
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string
}

func alerts(t *testing.T) (all []alert) {
	t.Helper()
	for _, group := range documents[struct{ Groups []struct{ Rules []alert } }](t, "alerts/botmesh.yaml")[0].Groups {
		all = append(all, group.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("got no alert")
	}
	return all
}

// panels are the queries of the dashboard, by the title of their panel.
func panels(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("grafana/botmesh.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			all[p.Title] = append(all[p.Title], target.Expr)
		}
	}
	return all
}

var (
	ofMetric  = regexp.MustCompile(`\bbot_[a-z_]+`)
	quoted    = regexp.MustCompile(`"[^"]*"`)
	selector  = regexp.MustCompile(`(bot_[a-z_]+)\{([^}]*)\}`)
	matcher   = regexp.MustCompile(`(\w+)(=~|!~|!=|=)"([^"]*)"`)
	grouping  = regexp.MustCompile(`\bby \(([^)]*)\)`)
	inCode    = regexp.MustCompile("`([a-z_]+)`")
	tableLine = regexp.MustCompile("(?m)^\\| (`bot_[^|]*) \\| ([^|]*)\\|")
)

// metrics are the labels of each metric, and the values of each label, as
// docs/telemetry.md has them, whose names a test of the module holds to the code. A
// label that may have any value has none.
func metrics(t *testing.T) map[string]map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string][]string{}
	for _, line := range tableLine.FindAllStringSubmatch(string(page), -1) {
		labels, label := map[string][]string{}, ""
		for _, word := range inCode.FindAllStringSubmatch(line[2], -1) {
			switch word[1] {
			case "bot_provider", "outcome", "reason", "kind":
				label = word[1]
				labels[label] = nil
			default:
				labels[label] = append(labels[label], word[1])
			}
		}
		for _, name := range inCode.FindAllStringSubmatch(line[1], -1) {
			all[name[1]] = labels
			if strings.HasSuffix(name[1], "_seconds") {
				all[name[1]+"_bucket"] = labels
			}
		}
	}
	return all
}

// unknown is what a query names and there is not: metrics, labels and their values.
// A query that groups names labels that one of its metrics has.
func unknown(query string, known map[string]map[string][]string) (bad []string) {
	labels := map[string]bool{"le": strings.Contains(query, "_bucket")}
	bare := grouping.ReplaceAllString(quoted.ReplaceAllString(query, `""`), "")
	bare = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(bare, "")
	for _, name := range ofMetric.FindAllString(bare, -1) {
		of, ok := known[name]
		if !ok {
			bad = append(bad, name)
		}
		for label := range of {
			labels[label] = true
		}
	}
	for _, by := range grouping.FindAllStringSubmatch(query, -1) {
		for label := range strings.SplitSeq(by[1], ",") {
			if label = strings.TrimSpace(label); !labels[label] {
				bad = append(bad, "by "+label)
			}
		}
	}
	for _, sel := range selector.FindAllStringSubmatch(query, -1) {
		for _, m := range matcher.FindAllStringSubmatch(sel[2], -1) {
			values, ok := known[sel[1]][m[1]]
			if !ok {
				bad = append(bad, sel[1]+" by "+m[1])
				continue
			}
			for value := range strings.SplitSeq(m[3], "|") {
				if values != nil && !slices.Contains(values, value) {
					bad = append(bad, m[1]+" "+value)
				}
			}
		}
	}
	return bad
}

// What a query names that is not there, an alert never tells of.
//
// SPEC: W2
func TestQueriesNameWhatThereIs(t *testing.T) {
	t.Parallel()
	known := metrics(t)
	for _, a := range alerts(t) {
		if bad := unknown(a.Expr, known); bad != nil {
			t.Errorf("alert %s: got %q, which are not in docs/telemetry.md", a.Alert, bad)
		}
	}
	shown := map[string]bool{}
	for title, queries := range panels(t) {
		for _, query := range queries {
			if bad := unknown(query, known); bad != nil {
				t.Errorf("panel %q: got %q, which are not in docs/telemetry.md", title, bad)
			}
			for _, name := range ofMetric.FindAllString(query, -1) {
				shown[strings.TrimSuffix(name, "_bucket")] = true
			}
		}
	}
	for name := range known {
		if name = strings.TrimSuffix(name, "_bucket"); !shown[name] {
			t.Errorf("got no panel for %s", name)
		}
	}
}

func TestUnknownFindsWhatIsNotThere(t *testing.T) {
	t.Parallel()
	known := map[string]map[string][]string{
		"bot_a_total":          {"outcome": {"good", "bad"}, "bot_provider": nil},
		"bot_b_seconds_bucket": {},
	}
	for query, want := range map[string][]string{
		`sum by (bot_provider) (rate(bot_a_total{outcome=~"good|bad"}[5m])) > 0`:              nil,
		`histogram_quantile(0.9, sum by (le) (rate(bot_b_seconds_bucket[5m]))) + bot_a_total`: nil,
		`bot_c_total + bot_a_total{bot_provider="bot_x"}`:                                     {"bot_c_total"},
		`sum by (reason) (bot_a_total)`:                                                       {"by reason"},
		`sum by (le) (bot_a_total)`:                                                           {"by le"},
		`bot_a_total{kind="x"} > 1`:                                                           {"bot_a_total by kind"},
		`bot_a_total{outcome!="good|ugly"}`:                                                   {"outcome ugly"},
	} {
		if got := unknown(query, known); !slices.Equal(got, want) {
			t.Errorf("unknown(%s): got %q, want %q", query, got, want)
		}
	}
}

func TestEachAlertHasARunbook(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	headings := map[string]string{}
	for section := range strings.SplitSeq("\n"+string(page), "\n## ") {
		name, text, _ := strings.Cut(section, "\n")
		headings[name] = text
	}
	names := map[string]bool{}
	for _, a := range alerts(t) {
		if names[a.Alert] {
			t.Errorf("got the alert %s twice", a.Alert)
		}
		names[a.Alert] = true
		if a.For != "" {
			duration(t, a.For)
		}
		if got, want := a.Annotations["runbook_url"], runbooks+strings.ToLower(a.Alert); got != want {
			t.Errorf("%s: got runbook_url %s, want %s", a.Alert, got, want)
		}
		if s := a.Labels["severity"]; (s != "critical" && s != "warning") || a.Annotations["summary"] == "" {
			t.Errorf("%s: got severity %q and summary %q", a.Alert, s, a.Annotations["summary"])
		}
		for _, part := range []string{"**Means**", "**Look at**", "**Do**"} {
			if !strings.Contains(headings[a.Alert], part) {
				t.Errorf("docs/runbooks.md does not have %s of %s", part, a.Alert)
			}
		}
	}
	for name := range maps.Keys(headings) {
		if strings.HasPrefix(name, "Botmesh") && !names[name] {
			t.Errorf("docs/runbooks.md has %s, which is no alert", name)
		}
	}
	for _, name := range ofMetric.FindAllString(string(page), -1) {
		if metrics(t)[name] == nil {
			t.Errorf("docs/runbooks.md has %s, which there is not", name)
		}
	}
}
