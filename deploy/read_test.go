package deploy_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// documents decodes all documents of a YAML file.
func documents[T any](t *testing.T, file string) (all []T) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var one T
		if err := d.Decode(&one); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, one)
	}
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// compose are the parts of compose.yaml, each without a way to more than it has.
func compose(t *testing.T) (all []part) {
	t.Helper()
	type service struct {
		Image       string
		Command     []string
		Environment map[string]string
		Grace       string   `yaml:"stop_grace_period"`
		ReadOnly    bool     `yaml:"read_only"`
		CapDrop     []string `yaml:"cap_drop"`
		Secrets     []string
	}
	file := documents[struct {
		Services map[string]service
		Secrets  map[string]any
	}](t, "compose.yaml")[0]
	for name, s := range file.Services {
		if s.Image != "botmesh" {
			continue
		}
		p := part{from: "compose.yaml: " + name, args: s.Command, env: s.Environment, grace: duration(t, s.Grace)}
		if !s.ReadOnly || len(s.CapDrop) != 1 || s.CapDrop[0] != "ALL" {
			t.Errorf("%s: read only %v, without %v, want all", p.from, s.ReadOnly, s.CapDrop)
		}
		for name, path := range s.Environment {
			if secret, ok := strings.CutPrefix(path, "/run/secrets/"); ok && (file.Secrets[secret] == nil || !strings.Contains(fmt.Sprint(s.Secrets), secret)) {
				t.Errorf("%s: %s is the secret %s, which it is not given", p.from, name, secret)
			}
		}
		all = append(all, p)
	}
	proxy, err := os.ReadFile("compose/Caddyfile")
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range all {
		if p.program() == "ingress" {
			all[i].probe = strings.Fields(after(string(proxy), "health_port"))[0]
			_, name, _ := strings.Cut(p.from, ": ")
			if !strings.Contains(string(proxy), " "+name+":8080") || !strings.HasSuffix(p.env["BOTMESH_LISTEN"], ":8080") {
				t.Errorf("the proxy sends nothing to %s", name)
			}
		}
	}
	return all
}

func after(text, word string) string {
	_, rest, _ := strings.Cut(text, word)
	return rest
}

// units are the parts of the systemd units, with what a hardened one has.
func units(t *testing.T) (all []part) {
	t.Helper()
	names, err := filepath.Glob("systemd/*.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p := part{from: name, env: map[string]string{}}
		has, given := map[string]string{}, map[string]bool{}
		for line := range strings.Lines(string(text)) {
			key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
			if !ok || strings.HasPrefix(key, "#") {
				continue
			}
			has[key] = value
			switch key {
			case "ExecStart":
				p.args = strings.Fields(value)
			case "TimeoutStopSec":
				p.grace = duration(t, value+"s")
			case "Environment":
				setting, v, _ := strings.Cut(value, "=")
				p.env[setting] = strings.ReplaceAll(v, "%i", "demo")
			case "LoadCredential":
				credential, _, _ := strings.Cut(value, ":")
				given["%d/"+credential] = true
			}
		}
		for setting, path := range p.env {
			if strings.HasSuffix(setting, "_FILE") && !given[path] {
				t.Errorf("%s: %s is %s, which it is not given", name, setting, path)
			}
		}
		for key, want := range map[string]string{"DynamicUser": "yes", "NoNewPrivileges": "yes", "ProtectSystem": "strict", "CapabilityBoundingSet": "",
			"KillMode": "mixed", "KillSignal": "SIGTERM", "RestartPreventExitStatus": "2", "UMask": "0077"} {
			if got, ok := has[key]; !ok || got != want {
				t.Errorf("%s: %s is %q, want %q", name, key, got, want)
			}
		}
		all = append(all, p)
	}
	return all
}

// object is what a test wants to know of a Kubernetes object.
type object struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Template struct{ Spec podSpec }
	}
}

type podSpec struct {
	ServiceLinks *bool `yaml:"enableServiceLinks"`
	Token        *bool `yaml:"automountServiceAccountToken"`
	Grace        int   `yaml:"terminationGracePeriodSeconds"`
	Security     struct {
		NonRoot bool `yaml:"runAsNonRoot"`
	} `yaml:"securityContext"`
	Containers []container
	Volumes    []struct{ Name string }
}

type container struct {
	Image   string
	Command []string
	Env     []struct{ Name, Value string }
	Ports   []struct {
		Name string
		Port int `yaml:"containerPort"`
	}
	Liveness  probe `yaml:"livenessProbe"`
	Readiness probe `yaml:"readinessProbe"`
	Security  struct {
		Escalation *bool `yaml:"allowPrivilegeEscalation"`
		ReadOnly   bool  `yaml:"readOnlyRootFilesystem"`
	} `yaml:"securityContext"`
	Mounts []struct{ Name, MountPath string } `yaml:"volumeMounts"`
}

type probe struct {
	Get struct{ Path, Port string } `yaml:"httpGet"`
}

// manifests are the parts of the Kustomize base.
func manifests(t *testing.T) (all []part) {
	t.Helper()
	base := documents[struct {
		Resources []string
		Maps      []struct {
			Name     string
			Literals []string
		} `yaml:"configMapGenerator"`
	}](t, "kubernetes/kustomization.yaml")[0]
	shared := map[string]string{}
	for _, literal := range base.Maps[0].Literals {
		name, value, _ := strings.Cut(literal, "=")
		shared[name] = value
	}
	for _, file := range base.Resources {
		for _, o := range documents[object](t, "kubernetes/"+file) {
			switch o.Kind {
			case "Deployment", "Job":
				all = append(all, o.part(t, shared))
			}
		}
	}
	return all
}

func (o object) part(t *testing.T, shared map[string]string) part {
	t.Helper()
	s := o.Spec.Template.Spec
	c := s.Containers[0]
	p := part{from: "kubernetes: " + o.Metadata.Name, args: c.Command, env: map[string]string{}, grace: time.Duration(s.Grace) * time.Second}
	for name, value := range shared {
		p.env[name] = value
	}
	for _, e := range c.Env {
		p.env[e.Name] = e.Value
	}
	// Variables of services would be settings that nobody knows.
	if s.ServiceLinks == nil || *s.ServiceLinks || s.Token == nil || *s.Token || !s.Security.NonRoot {
		t.Errorf("%s: service links, a token of the cluster or root", p.from)
	}
	if c.Image != "botmesh" || c.Security.Escalation == nil || *c.Security.Escalation || !c.Security.ReadOnly {
		t.Errorf("%s: image %s, security %+v", p.from, c.Image, c.Security)
	}
	for _, m := range c.Mounts {
		if !strings.Contains(fmt.Sprint(s.Volumes), m.Name) {
			t.Errorf("%s: no volume %s", p.from, m.Name)
		}
	}
	if o.Kind == "Job" {
		return p
	}
	if c.Liveness.Get.Path != "/healthz" || c.Readiness.Get.Path != "/readyz" || c.Liveness.Get.Port != c.Readiness.Get.Port {
		t.Errorf("%s: probes %+v and %+v", p.from, c.Liveness, c.Readiness)
	}
	for _, port := range c.Ports {
		if port.Name == c.Readiness.Get.Port {
			p.probe = fmt.Sprint(port.Port)
		}
	}
	if p.probe == "" {
		t.Errorf("%s: no port %s", p.from, c.Readiness.Get.Port)
	}
	return p
}
