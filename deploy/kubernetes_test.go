package deploy_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

type labels map[string]string

// related is what of a Kubernetes object names another.
type related struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Template struct {
			Metadata struct{ Labels labels }
			Spec     podSpec
		}
		Selector any
		Ports    []struct {
			Name       string
			TargetPort string `yaml:"targetPort"`
		}
		ScaleTargetRef struct{ Name string } `yaml:"scaleTargetRef"`
		Triggers       []struct{ Metadata struct{ Query string } }
	}
}

// selects are the labels of a selector, which a Service writes without a word before them.
func (r related) selects() labels {
	of, _ := r.Spec.Selector.(map[string]any)
	if match, ok := of["matchLabels"].(map[string]any); ok {
		of = match
	}
	found := labels{}
	for key, value := range of {
		found[key], _ = value.(string)
	}
	return found
}

// What names pods, their ports or metrics names those that there are: the Service sends to
// the ingress, each Deployment has its own pods and one budget for them, and the workers
// are scaled by metrics that they have.
func TestWhatKubernetesObjectsNameIsThere(t *testing.T) {
	t.Parallel()
	deployed, budgets, services := map[string]related{}, map[string]int{}, 0
	all := slices.Concat(documents[related](t, "kubernetes/ingress.yaml"), documents[related](t, "kubernetes/worker.yaml"))
	for _, o := range all {
		if o.Kind == "Deployment" {
			deployed[o.Metadata.Name] = o
		}
	}
	for _, o := range all {
		pods, ok := deployed[o.Metadata.Name]
		if !ok || !maps.Equal(o.selects(), pods.Spec.Template.Metadata.Labels) {
			t.Errorf("%s %s selects %v, its pods have %v", o.Kind, o.Metadata.Name, o.selects(), pods.Spec.Template.Metadata.Labels)
			continue
		}
		switch o.Kind {
		case "PodDisruptionBudget":
			budgets[o.Metadata.Name]++
		case "Service":
			services++
			for _, p := range o.Spec.Ports {
				if got := pods.port(p.TargetPort); got != 8080 {
					t.Errorf("Service %s sends to port %s, %d, want that of BOTMESH_LISTEN", o.Metadata.Name, p.TargetPort, got)
				}
			}
		}
	}
	if want := (map[string]int{"botmesh-ingress": 1, "botmesh-worker": 1}); !maps.Equal(budgets, want) || services != 1 {
		t.Errorf("got budgets %v and %d services, want %v and one", budgets, services, want)
	}
	names, err := os.ReadFile("../telemetry/names.go")
	if err != nil {
		t.Fatal(err)
	}
	scaled := documents[related](t, "kubernetes/autoscaling/worker.yaml")[0]
	if _, ok := deployed[scaled.Spec.ScaleTargetRef.Name]; !ok || len(scaled.Spec.Triggers) != 2 {
		t.Errorf("got %s scaled by %d triggers, want a Deployment by two", scaled.Spec.ScaleTargetRef.Name, len(scaled.Spec.Triggers))
	}
	for _, trigger := range scaled.Spec.Triggers {
		metric := regexp.MustCompile(`bot_[a-z_]+`).FindString(trigger.Metadata.Query)
		if metric == "" || !strings.Contains(string(names), `"`+strings.ReplaceAll(metric, "_", ".")+`"`) {
			t.Errorf("%q asks for %q, which no program has", trigger.Metadata.Query, metric)
		}
	}
}

// port is the number of a named port of the pods, zero if none has the name.
func (r related) port(name string) int {
	for _, c := range r.Spec.Template.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == name {
				return p.Port
			}
		}
	}
	return 0
}
