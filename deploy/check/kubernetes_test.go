package check_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// scaled is KEDA's object, with the fields of it that are used: its own types are part of
// a module of hundreds of packages.
type scaled struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       struct {
		ScaleTargetRef  struct{ Name string } `json:"scaleTargetRef"`
		MinReplicaCount *int32                `json:"minReplicaCount"`
		MaxReplicaCount *int32                `json:"maxReplicaCount"`
		Fallback        *struct {
			FailureThreshold, Replicas int32
		} `json:"fallback"`
		Advanced struct {
			HorizontalPodAutoscalerConfig struct {
				Behavior *autoscaling.HorizontalPodAutoscalerBehavior `json:"behavior"`
			} `json:"horizontalPodAutoscalerConfig"`
		} `json:"advanced"`
		Triggers []struct {
			Type     string
			Metadata struct {
				ServerAddress string `json:"serverAddress"`
				Query         string
				Threshold     string
			}
		}
	} `json:"spec"`
}

// overlay is what docs/deploy.md has an operator write over the base.
const overlay = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../kubernetes]
components: [../kubernetes/autoscaling]
images:
  - { name: registry.example.com/botmesh, newName: mine.example.com/bot, newTag: "7" }
secretGenerator:
  - { name: botmesh-ingress, literals: [nats_ingress=a, telegram_secret=b] }
`

// Kustomize renders what is shipped, with an overlay too, and each object is one that the
// API of Kubernetes knows in all its fields.
func TestKubernetesObjectsAreOfTheAPI(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "kubernetes"), os.DirFS("../kubernetes")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mine", "kustomization.yaml"), []byte(overlay), 0o600); err != nil {
		t.Fatal(err)
	}
	base := []string{"ConfigMap botmesh-", "Deployment botmesh-ingress", "Deployment botmesh-worker", "Job botmesh-streams", "Namespace botmesh",
		"PodDisruptionBudget botmesh-ingress", "PodDisruptionBudget botmesh-worker", "Service botmesh-ingress"}
	want := map[string][]string{"kubernetes": base, "mine": slices.Sorted(slices.Values(append(slices.Clone(base), "ScaledObject botmesh-worker", "Secret botmesh-ingress-")))}
	for name, want := range want {
		if got := render(t, filepath.Join(dir, name)); !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// render returns the kinds and names of what Kustomize makes of a folder, each decoded
// strictly.
func render(t *testing.T, dir string) (all []string) {
	t.Helper()
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	known := runtime.NewScheme() // the parts of the API that are used: all of it takes long to compile
	add := runtime.NewSchemeBuilder(apps.AddToScheme, batch.AddToScheme, core.AddToScheme, policy.AddToScheme)
	if err := add.AddToScheme(known); err != nil {
		t.Fatal(err)
	}
	strict := serializer.NewCodecFactory(known, serializer.EnableStrict).UniversalDeserializer()
	for _, o := range objects.Resources() {
		all = append(all, o.GetKind()+" "+o.GetName())
		text, err := o.AsYAML()
		if err == nil && o.GetKind() == "ScaledObject" {
			err = yaml.UnmarshalStrict(text, &scaled{})
		} else if err == nil {
			_, _, err = strict.Decode(text, nil, nil)
		}
		if err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	slices.Sort(all)
	return all
}
