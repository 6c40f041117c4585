// Package check_test has what is in deploy read by those it is for. It holds the alert
// rules and the dashboard to the metrics that there are, runs the rules on series in the
// engine of Prometheus, renders with Kustomize into what the API of Kubernetes knows, and
// loads as Compose does. It is a module of its own, so that nobody who builds a bot has
// any of these among what the bot depends on.
package check_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
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
	text, err := os.ReadFile("../alerts/botmesh.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Groups []struct{ Rules []alert } }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("got no alert")
	}
	return all
}

type target struct{ Expr, LegendFormat string }

// panels are the queries of the dashboard, by the title of their panel.
func panels(t *testing.T) map[string][]target {
	t.Helper()
	text, err := os.ReadFile("../grafana/botmesh.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []target
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	all := map[string][]target{}
	for _, p := range board.Panels {
		all[p.Title] = append(all[p.Title], p.Targets...)
	}
	return all
}

var (
	ofMetric  = regexp.MustCompile(`\bbot_[a-z_]+`)
	ofLabel   = regexp.MustCompile(`\{\{ ?(?:\$labels\.)?(\w+) ?\}\}`)
	inCode    = regexp.MustCompile("`([a-z_]+)`")
	tableLine = regexp.MustCompile("(?m)^\\| (`bot_[^|]*) \\| ([^|]*)\\|")
)

// metrics are the labels of each metric, and the values of each label, as
// docs/telemetry.md has them, whose names a test of the module holds to the code. A
// label that may have any value has none.
func metrics(t *testing.T) map[string]map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/telemetry.md")
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

// What a query names that is not there, an alert never tells of.
//
// SPEC: W2
func TestQueriesNameWhatThereIs(t *testing.T) {
	t.Parallel()
	known := metrics(t)
	check := func(of, query, text string) {
		labels, bad := unknown(query, known)
		if bad != nil {
			t.Errorf("%s: got %q, which are not in docs/telemetry.md or come to nothing", of, bad)
		}
		for _, name := range ofLabel.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(labels, name[1]) {
				t.Errorf("%s: got %s in its text, want one of its query: %q", of, name[1], labels)
			}
		}
	}
	for _, a := range alerts(t) {
		check("alert "+a.Alert, a.Expr, a.Annotations["summary"])
	}
	shown := map[string]bool{}
	for title, targets := range panels(t) {
		for _, target := range targets {
			check("panel "+title, target.Expr, target.LegendFormat)
			for _, name := range ofMetric.FindAllString(target.Expr, -1) {
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

func TestEachAlertHasARunbook(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/runbooks.md")
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
