package check_test

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type endpoint struct{ Endpoint string }

// collector is the configuration of the OpenTelemetry collector, with the keys that are
// used. Its own code would read more strictly, and is not run here: with the parts of the
// contrib image it is more than all else that is tested beside it.
type collector struct {
	Receivers struct {
		OTLP struct {
			Protocols struct{ HTTP endpoint }
		}
		Prometheus struct {
			Config struct {
				ScrapeConfigs []struct {
					JobName        string `yaml:"job_name"`
					ScrapeInterval string `yaml:"scrape_interval"`
					StaticConfigs  []struct {
						Targets []string
					} `yaml:"static_configs"`
				} `yaml:"scrape_configs"`
			}
		}
	}
	Processors struct{ Batch struct{} }
	Exporters  struct {
		Debug      struct{}
		Prometheus endpoint
	}
	Service struct {
		Pipelines map[string]map[string][]string
	}
}

// No key of the collector's file is unknown, its pipelines are of what it has, and it
// scrapes every ingress and worker of the Compose file where it listens.
func TestTheCollectorTakesWhatItIsToTake(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../compose/collector.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var is collector
	strict := yaml.NewDecoder(bytes.NewReader(text))
	strict.KnownFields(true)
	if err := strict.Decode(&is); err != nil {
		t.Fatal(err)
	}
	has := map[string]map[string]any{}
	if err := yaml.Unmarshal(text, &has); err != nil {
		t.Fatal(err)
	}
	unused := map[string]bool{}
	for _, part := range []string{"receivers", "processors", "exporters"} {
		for name := range has[part] {
			unused[part+" "+name] = true
		}
	}
	for signal, pipeline := range is.Service.Pipelines {
		if signal != "traces" && signal != "metrics" {
			t.Errorf("no program of ours tells %s", signal)
		}
		for part, names := range pipeline {
			for _, name := range names {
				if _, ok := has[part][name]; !ok {
					t.Errorf("the pipeline of %s has %s %s, which is not configured", signal, part, name)
				}
				delete(unused, part+" "+name)
			}
		}
	}
	if len(unused) > 0 {
		t.Errorf("got %v in no pipeline", slices.Sorted(maps.Keys(unused)))
	}
	scrapes(t, is)
}

func scrapes(t *testing.T, is collector) {
	t.Helper()
	project := composed(t)
	var targets []string
	for _, job := range is.Receivers.Prometheus.Config.ScrapeConfigs {
		for _, static := range job.StaticConfigs {
			targets = append(targets, static.Targets...)
		}
	}
	for _, target := range targets {
		reaches(t, project, target, "BOTMESH_ADMIN_LISTEN")
	}
	for name, service := range project.Services {
		scraped := slices.ContainsFunc(targets, func(target string) bool { return strings.HasPrefix(target, name+":") })
		if service.Environment["BOTMESH_ADMIN_LISTEN"] != nil && !scraped {
			t.Errorf("%s is not scraped", name)
		}
		if to := service.Environment["OTEL_EXPORTER_OTLP_ENDPOINT"]; to != nil {
			if port, ok := strings.CutPrefix(*to, "http://collector:"); !ok || !strings.HasSuffix(is.Receivers.OTLP.Protocols.HTTP.Endpoint, ":"+port) {
				t.Errorf("%s sends its traces to %s, where the collector does not listen", name, *to)
			}
		}
	}
	published := false
	for _, port := range project.Services["collector"].Ports {
		published = published || strings.HasSuffix(is.Exporters.Prometheus.Endpoint, ":"+port.Published)
	}
	if !published {
		t.Errorf("got the metrics at %s, want a port that the Compose file publishes", is.Exporters.Prometheus.Endpoint)
	}
}
