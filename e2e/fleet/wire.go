package fleet

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/botmesh-go/botmesh/e2e/proc"
)

// platformName is the platform's in a [Link].
const platformName = "platform"

// way is the address under which one part reaches another that listens at addr.
func (f *Fleet) way(from, to, addr string) (string, error) {
	if !f.cfg.Proxied {
		return addr, nil
	}
	return f.links.make(from, to, addr)
}

func (f *Fleet) ingress(name string) (*Replica, error) {
	addr, err := proc.FreeAddr()
	if err != nil {
		return nil, err
	}
	r, err := f.replica(name, f.cfg.Programs.Ingress, "BOTMESH_LISTEN="+addr, "BOTMESH_TELEGRAM_SECRET="+f.cfg.Platform.Secret())
	if err != nil {
		return nil, err
	}
	way, err := f.way(platformName, name, addr)
	if err != nil {
		return nil, err
	}
	r.URL = "http://" + way
	if f.cfg.Polling {
		err = f.polls(r)
	}
	return r, err
}

// polls has an ingress ask the platform for updates, one at a time.
func (f *Fleet) polls(r *Replica) error {
	redis, err := f.way(r.Name, f.Redis.Name, f.Redis.Addr)
	if err != nil {
		return err
	}
	api, err := f.api(r.Name)
	if err != nil {
		return err
	}
	r.cfg.Env = append(r.cfg.Env, "BOTMESH_TELEGRAM_MODE=polling",
		"BOTMESH_REDIS_URL=redis://"+redis+"/0", "BOTMESH_TELEGRAM_TOKEN="+f.cfg.Platform.Token())
	each := r.env
	r.env = func(process string) []string {
		return append(each(process), "BOTMESH_TELEGRAM_API_URL="+api(process))
	}
	return nil
}

func (f *Fleet) worker(name string) (*Replica, error) {
	redis, err := f.way(name, f.Redis.Name, f.Redis.Addr)
	if err != nil {
		return nil, err
	}
	api, err := f.api(name)
	if err != nil {
		return nil, err
	}
	r, err := f.replica(name, f.cfg.Programs.Worker,
		"BOTMESH_REDIS_URL=redis://"+redis+"/0", "BOTMESH_TELEGRAM_TOKEN="+f.cfg.Platform.Token(),
		"BOTMESH_TELEGRAM_ACCOUNT_RATE=off", "BOTMESH_TELEGRAM_CHAT_RATE=off") // the pretended one bears any load
	if err != nil {
		return nil, err
	}
	each := r.env
	r.env = func(process string) []string {
		return append(each(process), "BOTMESH_TELEGRAM_API_URL="+api(process))
	}
	return r, nil
}

// api gives the platform's address for each process of a worker.
func (f *Fleet) api(worker string) (func(process string) string, error) {
	u, err := url.Parse(f.cfg.Platform.URL(""))
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	direct := u.Host
	way, err := f.way(worker, platformName, direct)
	if err != nil {
		return nil, err
	}
	return func(process string) string { return strings.Replace(f.cfg.Platform.URL(process), direct, way, 1) }, nil
}

func (f *Fleet) replica(name, path string, env ...string) (*Replica, error) {
	addr, err := proc.FreeAddr()
	if err != nil {
		return nil, err
	}
	var nodes []string
	for _, n := range f.Engines.Nodes {
		way, err := f.way(name, n.Name, n.Addr)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, "nats://"+way)
	}
	env = append(env,
		"BOTMESH_BOT="+f.cfg.Bot,
		"BOTMESH_REPLICA_ID="+name,
		"BOTMESH_NATS_URL="+strings.Join(nodes, ","),
		"BOTMESH_ADMIN_LISTEN="+addr,
	)
	for _, k := range slices.Sorted(maps.Keys(f.cfg.Env)) {
		env = append(env, k+"="+f.cfg.Env[k])
	}
	r := &Replica{
		Name:  name,
		Admin: "http://" + addr,
		cfg:   proc.Config{Name: name, Path: path, Env: env, Logs: f.cfg.Dir},
		env:   f.cfg.Each,
	}
	if r.env == nil {
		r.env = func(string) []string { return nil }
	}
	return r, nil
}
