package check_test

import (
	"os"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// Caddy's own parser reads the file, and what stands in it is what is known of reverse_proxy:
// its adapter is part of its server, with hundreds of packages. Each upstream is a service
// of the Compose file, by its public port and its private one.
func TestTheProxyLeadsToTheIngresses(t *testing.T) {
	t.Parallel()
	const name = "../compose/Caddyfile"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := caddyfile.Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := string(caddyfile.Format(text)); diff != string(text) {
		t.Errorf("got %s, want it as caddy fmt writes it:\n%s", text, diff)
	}
	if len(blocks) != 1 || len(blocks[0].Keys) != 1 || blocks[0].Keys[0].Text != ":8080" || len(blocks[0].Segments) != 1 {
		t.Fatalf("got %+v, want one site, on port 8080, with one directive", blocks)
	}
	project := composed(t)
	d := blocks[0].DispenseDirective("reverse_proxy")
	if !d.Next() {
		t.Fatal("got no reverse_proxy")
	}
	upstreams, private := d.RemainingArgs(), ""
	if len(upstreams) != 2 {
		t.Errorf("got %q, want both ingresses", upstreams)
	}
	for d.NextBlock(0) {
		option, values := d.Val(), d.RemainingArgs()
		if len(values) != 1 {
			t.Errorf("%s: got %q, want one value", option, values)
			continue
		}
		switch option {
		case "health_uri":
			if values[0] != "/readyz" {
				t.Errorf("got health_uri %s, want what says that a drain began", values[0])
			}
		case "health_port":
			private = values[0]
		case "health_interval", "lb_try_duration":
			if _, err := caddy.ParseDuration(values[0]); err != nil {
				t.Errorf("%s: %v", option, err)
			}
		default:
			t.Errorf("%s is not known here: look whether reverse_proxy has it, and add it", option)
		}
	}
	for _, upstream := range upstreams {
		reaches(t, project, upstream, "BOTMESH_LISTEN")
		reaches(t, project, upstream[:len(upstream)-len("8080")]+private, "BOTMESH_ADMIN_LISTEN")
	}
}
