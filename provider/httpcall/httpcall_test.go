package httpcall

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPost(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-A") != "b" {
			t.Errorf("got %s %v with %v, want a POST of JSON with the header", r.Method, err, r.Header)
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusFound)
		w.Write(append(body, '!'))
	}))
	t.Cleanup(srv.Close)
	c := New(Config{})
	t.Cleanup(c.Close)
	header := http.Header{"X-A": {"b"}}
	got, err := c.Post(t.Context(), srv.URL, header, []byte(`{}`))
	if err != nil || got.Status != http.StatusFound || string(got.Body) != "{}!" {
		t.Errorf("got %d %q, %v, want the redirect itself", got.Status, got.Body, err)
	}
	if len(header) != 1 {
		t.Errorf("got the caller's header changed to %v, want it as it was", header)
	}
}

func TestErrorsHideTheAddress(t *testing.T) {
	t.Parallel()
	failing := roundTripper(func(r *http.Request) (*http.Response, error) {
		return nil, errors.New("can not reach " + r.URL.Path)
	})
	for name, c := range map[string]struct {
		address   string
		permanent bool
	}{"Failed": {"http://h/hidden/x", false}, "Open": {"http://h/x", false}, "Malformed": {"http://h\x7f/hidden/x", true}} {
		_, err := New(Config{Transport: failing, Secret: "hidden"}).Post(t.Context(), c.address, nil, nil)
		if err == nil || strings.Contains(err.Error(), "hidden") || provider.IsPermanent(err) != c.permanent {
			t.Errorf("%s: got %v, want an error without the secret, permanent %v", name, err, c.permanent)
		}
		var withURL *url.Error
		if errors.As(err, &withURL) {
			t.Errorf("%s: got a *url.Error, want its address nowhere", name)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "9000000000000000000": 24 * time.Hour, "soon": 0, "1.5": 0,
	} {
		if got := (Answer{Header: http.Header{"Retry-After": {header}}}).RetryAfter(); got != want {
			t.Errorf("%q: got %v, want %v", header, got, want)
		}
	}
}

func TestCheckBase(t *testing.T) {
	t.Parallel()
	for base, good := range map[string]bool{
		"https://h": true, "http://127.0.0.1:1/v1": true, "ftp://h": false, "https://": false, "h": false, "https://h?a": false, "https://h#a": false, "http://h\x7f": false,
	} {
		if err := CheckBase(base); (err == nil) != good {
			t.Errorf("%q: got %v, want good %v", base, err, good)
		}
	}
}
