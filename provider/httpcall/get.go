package httpcall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/botmesh-go/botmesh"
)

// maxRedirects is how often [Public.Open] is sent on.
const maxRedirects = 3

// Get makes one GET and follows no redirect. The error holds no address and not the secret.
func (c *Client) Get(ctx context.Context, address string, header http.Header) (Answer, error) {
	resp, err := c.get(ctx, address, header)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	return c.read(resp)
}

// Open begins to read the file at an address and follows no redirect, so that what is in
// header reaches no other host. A status other than 200 is a [StatusError]; no error holds
// the address or the secret. m is what is known of the file from elsewhere: it counts
// before what the answer says.
func (c *Client) Open(ctx context.Context, address string, header http.Header, m botmesh.Media) (*botmesh.File, error) {
	resp, err := c.get(ctx, address, header)
	if err != nil {
		return nil, err
	}
	return open(resp, m, c.clean)
}

func (c *Client) get(ctx context.Context, address string, header http.Header) (*http.Response, error) {
	req, err := newGet(ctx, address, header)
	if err != nil {
		return nil, c.clean(err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.clean(err)
	}
	return resp, nil
}

func newGet(ctx context.Context, address string, header http.Header) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header.Clone()
	}
	req.Header.Set("User-Agent", "botmesh")
	req.Header.Set("Accept-Encoding", "identity") // or its length would not be known
	return req, nil
}

// StatusError says that a file's server answered with that status.
type StatusError int

func (e StatusError) Error() string {
	return fmt.Sprintf("the file's server answered %d %s", int(e), http.StatusText(int(e)))
}

// Gone reports whether err is a [StatusError] by which an address says that it leads, or
// leads any more, to no file: 401, 403, 404 or 410, as expired ones do.
func Gone(err error) bool {
	var e StatusError
	if !errors.As(err, &e) {
		return false
	}
	switch int(e) {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		return true
	}
	return false
}

// open makes a file of an answer.
func open(resp *http.Response, m botmesh.Media, clean func(error) error) (*botmesh.File, error) {
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, StatusError(resp.StatusCode)
	}
	name := m.Name
	if _, params, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition")); err == nil {
		name = cmp.Or(name, params["filename"])
	}
	return &botmesh.File{
		ReadCloser: content{resp.Body, clean},
		Name:       name, Type: cmp.Or(m.Type, resp.Header.Get("Content-Type")), Size: resp.ContentLength,
	}, nil
}

// content is a body whose errors hold no secret.
type content struct {
	io.ReadCloser
	clean func(error) error
}

func (c content) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = c.clean(err)
	}
	return n, err
}

// SameHost reports whether both addresses are of one host and scheme, so that who may be
// told a secret by one may be told it by the other.
func SameHost(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && x.Scheme == y.Scheme && strings.EqualFold(x.Host, y.Host)
}

// Within reports whether address is an https address of one of the domains or a host
// within one.
func Within(address string, domains ...string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.User != nil {
		return false
	}
	host := "." + strings.ToLower(u.Hostname())
	for _, d := range domains {
		if strings.HasSuffix(host, "."+d) {
			return true
		}
	}
	return false
}

// errPrivate says that an address that somebody else chose leads to where only this
// machine or its network may look.
var errPrivate = errors.New("the address is not one of the public internet")

// Public reads from addresses that others choose. It knows no secret.
type Public struct {
	private bool
	http    http.Client
	close   func()
}

// NewPublic makes a Public. It connects to public addresses alone, whatever a name or a
// redirect leads to, and speaks https alone; private allows others, for a backend in one's
// own network. It uses no proxy, which would choose the address by itself.
func NewPublic(private bool) *Public {
	t := newTransport()
	t.Proxy = nil
	if !private {
		t.DialContext = (&net.Dialer{Timeout: 5 * time.Second, Control: guard}).DialContext
	}
	p := &Public{private: private, close: t.CloseIdleConnections}
	p.http.Transport = t
	p.http.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		r.Header.Del("Referer") // an address may be a secret
		if len(via) > maxRedirects {
			return errors.New("too many redirects")
		}
		return p.check(r.URL)
	}
	return p
}

// Close closes the idle connections.
func (p *Public) Close() { p.close() }

// Open is as [Client.Open], and follows up to three redirects. That it may not look there
// is botmesh.ErrFileUnsupported.
func (p *Public) Open(ctx context.Context, address string, m botmesh.Media) (*botmesh.File, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%w: the reference is not an address", botmesh.ErrFileUnsupported)
	}
	if err := p.check(u); err != nil {
		return nil, err
	}
	req, err := newGet(ctx, address, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: the reference is not an address", botmesh.ErrFileUnsupported)
	}
	clean := (&Client{}).clean
	resp, err := p.http.Do(req)
	switch {
	case errors.Is(err, errPrivate):
		return nil, fmt.Errorf("%w: %w", botmesh.ErrFileUnsupported, errPrivate)
	case err != nil:
		return nil, clean(err)
	}
	return open(resp, m, clean)
}

func (p *Public) check(u *url.URL) error {
	if u.Host == "" || u.Scheme != "https" && !(p.private && u.Scheme == "http") {
		return fmt.Errorf("%w: the reference is not an https address", botmesh.ErrFileUnsupported)
	}
	return nil
}

// shared are the networks, besides those that netip tells, of which no host is a public
// one: carriers' own, documentation, benchmarks, former broadcasts, and those by which an
// IPv4 address is reached through an IPv6 one.
var shared = func() (all []netip.Prefix) {
	for _, s := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fec0::/10",
	} {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}()

// guard refuses a connection, its name resolved, that does not lead to a public address.
func guard(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return errPrivate
	}
	ip := to.Addr().Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.Zone() != "" {
		return errPrivate
	}
	for _, net := range shared {
		if net.Contains(ip) {
			return errPrivate
		}
	}
	return nil
}
