package rediscoord

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// The kinds of what an address leads to.
const (
	kindSingle   = ""
	kindCluster  = "cluster"
	kindSentinel = "sentinel"
)

// address is a Redis URL.
type address struct {
	whole  string
	secure bool
	own    *tls.Config // the caller's, nil for what the machine trusts
	kind   string
	user   *url.Userinfo
	hosts  []string // with ports
	master string   // what the Sentinels call it
	db     int
	query  url.Values
}

// errNoURL says nothing of the address, which may hold a password.
var errNoURL = errors.New("the address is not a URL")

// parseAddress reads an address. An error shows no password.
func parseAddress(whole string) (*address, error) {
	scheme, rest, ok := strings.Cut(whole, "://")
	if !ok {
		return nil, errNoURL
	}
	a := &address{whole: whole}
	base, kind, plus := strings.Cut(scheme, "+")
	a.secure, a.kind = base == "rediss", kind
	if base != "redis" && base != "rediss" || plus && kind != kindCluster && kind != kindSentinel {
		return nil, fmt.Errorf("scheme %q: want redis:// or rediss://, redis+sentinel:// or redis+cluster://", scheme)
	}
	hosts := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		hosts = rest[:i]
	}
	hosts = hosts[strings.LastIndexByte(hosts, '@')+1:]
	first, _, several := strings.Cut(hosts, ",")
	u, err := url.Parse(base + "://" + strings.Replace(rest, hosts, first, 1))
	if err != nil {
		return nil, errNoURL
	}
	if a.kind == kindSingle && several {
		return nil, fmt.Errorf("several hosts: want redis+sentinel:// or redis+cluster://")
	}
	a.user, a.query = u.User, u.Query()
	if a.hosts, err = withPorts(strings.Split(hosts, ","), a.port()); err != nil {
		return nil, err
	}
	switch a.kind {
	case kindSingle:
		return a, nil // the client reads the rest
	case kindSentinel:
		err = a.parseMaster(u.Path)
	case kindCluster:
		if strings.Trim(u.Path, "/") != "" {
			err = fmt.Errorf("path %q: a cluster has no databases", u.Path)
		}
	}
	if err == nil {
		err = a.onlyKnown()
	}
	return a, err
}

// port is where the servers of an address listen if it does not say.
func (a *address) port() string {
	if a.kind == kindSentinel {
		return "26379"
	}
	return "6379"
}

func withPorts(hosts []string, port string) ([]string, error) {
	for i, host := range hosts {
		u, err := url.Parse("any://" + host)
		if err != nil || u.Host == "" || u.Host != host {
			return nil, errNoURL
		}
		if u.Port() == "" {
			hosts[i] = net.JoinHostPort(u.Hostname(), port)
		}
	}
	return hosts, nil
}

// parseMaster reads /master or /master/db.
func (a *address) parseMaster(path string) (err error) {
	name, db, given := strings.Cut(strings.Trim(path, "/"), "/")
	if a.master = name; name == "" {
		return errors.New("no name of a master: want redis+sentinel://host,host/master")
	}
	if given {
		if a.db, err = strconv.Atoi(db); err != nil || a.db < 0 {
			return fmt.Errorf("database %q: want a number", db)
		}
	}
	return nil
}

// onlyKnown refuses parameters that have no meaning.
func (a *address) onlyKnown() error {
	for name := range a.query {
		if a.kind != kindSentinel || name != "sentinel_username" && name != "sentinel_password" {
			return fmt.Errorf("parameter %q is not known", name)
		}
	}
	return nil
}

// where names the servers without credentials.
func (a *address) where() string { return strings.Join(a.hosts, ",") }
