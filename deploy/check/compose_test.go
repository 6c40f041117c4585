package check_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// composed is the Compose file as Compose loads it, in a folder that has what the file's
// first lines have an operator make.
func composed(t *testing.T) *types.Project {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("..")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "compose", "nats.env"), []byte("BOTMESH_NATS_SYS_PASSWORD=x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := cli.NewProjectOptions([]string{filepath.Join(dir, "compose.yaml")}, cli.WithInterpolation(true), cli.WithResolvedPaths(true))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// Compose knows every key of the file, and what it names is there: services, networks,
// volumes and secrets, which Compose looks for itself, and the files that are shipped.
func TestComposeLoads(t *testing.T) {
	t.Parallel()
	project := composed(t)
	if got := len(project.Services); got != 12 {
		t.Errorf("got %d services, want 12", got)
	}
	for name, service := range project.Services {
		for _, volume := range service.Volumes {
			made := strings.Contains(volume.Source, "compose/tls") // by certificates.sh
			if _, err := os.Stat(volume.Source); volume.Type == types.VolumeTypeBind && !made && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if build := service.Build; build != nil {
			if _, err := os.Stat(filepath.Join("..", "..", build.Dockerfile)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// reaches fails unless an address is that of a service that listens to its port, as its
// settings say, by the variable named.
func reaches(t *testing.T, project *types.Project, address, variable string) {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Errorf("%q: %v", address, err)
		return
	}
	listens := project.Services[host].Environment[variable]
	if listens == nil || !strings.HasSuffix(*listens, ":"+port) {
		t.Errorf("%s leads to no service of the Compose file that listens there", address)
	}
}
