// Package httpcall makes one call of a platform's API, so that its outcome can be
// told: not made, answered, or in doubt.
//
// What belongs here: what net/http leaves open about a POST without an answer.
// What an answer means is the platform's.
package httpcall

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/botmesh-go/botmesh/provider"
)

const (
	defaultMaxAnswer = 1 << 20
	// maxDelay bounds the delay that an answer can ask for.
	maxDelay = 24 * time.Hour
	// AccountDelay is how long a call waits after one that was refused for the sake
	// of a token, an address or the account: the next would be refused too.
	AccountDelay = 30 * time.Second
)

// Config configures a [Client]. The zero value is usable.
type Config struct {
	// Transport makes the calls. Defaults to one of the client's own, which keeps
	// up to 256 connections open between calls. A call lasts as long as its context.
	Transport http.RoundTripper
	// Secret is in no error, in case it is part of an address.
	Secret string
	// MaxAnswer bounds how much of an answer is read, in bytes. Defaults to 1 MiB.
	MaxAnswer int64
}

// Client calls a platform. Safe for concurrent use.
type Client struct {
	secret string
	most   int64
	http   http.Client
	close  func()
}

// New makes a Client.
func New(cfg Config) *Client {
	c := &Client{secret: cfg.Secret, most: cmp.Or(cfg.MaxAnswer, defaultMaxAnswer), close: func() {}}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http.Transport = cfg.Transport
	if cfg.Transport == nil {
		t := newTransport()
		c.http.Transport, c.close = t, t.CloseIdleConnections
	}
	return c
}

// newTransport is made for many calls at once to one host. It speaks HTTP/1.1: a
// connection carries one call, so a broken one puts one call in doubt.
func newTransport() *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 5 * time.Second,
		MaxIdleConnsPerHost: 256,
		IdleConnTimeout:     90 * time.Second,
		Protocols:           &protocols,
	}
}

// Close closes the idle connections of the client's own transport.
func (c *Client) Close() { c.close() }

// CheckBase says whether base can be the base address of an API, without showing
// it: it may hold a secret.
func CheckBase(base string) error {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("the API address is not an http or https address")
	}
	return nil
}

// Answer is what a platform, or something before it, answered.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	// Cut says that Body is only the beginning: the answer is over the bound.
	Cut bool
}

// RetryAfter is the delay of the header of that name, if it is there in seconds;
// zero if not. It is at most a day.
func (a Answer) RetryAfter() time.Duration {
	n, err := strconv.ParseInt(a.Header.Get("Retry-After"), 10, 64)
	if err != nil {
		return 0
	}
	return Seconds(n)
}

// Seconds is a delay that a platform asks for, between none and a day.
func Seconds(n int64) time.Duration {
	return time.Duration(min(max(0, n), int64(maxDelay/time.Second))) * time.Second
}

// Post makes one POST of JSON and follows no redirect. The error is made by
// [provider.Retry] if the call was certainly never written, by
// [provider.Permanent] if it can not be made, and leaves open whether it was taken
// if not. It holds no address.
func (c *Client) Post(ctx context.Context, address string, header http.Header, body []byte) (Answer, error) {
	var taken atomic.Bool
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, &watched{bytes.NewReader(body), &taken})
	if err != nil {
		return Answer{}, provider.Permanent(c.clean(err))
	}
	req.ContentLength = int64(len(body))
	// A connection that was kept open and closed meanwhile is replaced, if nothing
	// of the call was written to it.
	req.GetBody = func() (io.ReadCloser, error) { return &watched{bytes.NewReader(body), &taken}, nil }
	if header != nil {
		req.Header = header.Clone()
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "botmesh")
	resp, err := c.http.Do(req)
	if err != nil {
		if err = c.clean(err); taken.Load() {
			return Answer{}, err
		}
		return Answer{}, provider.Retry(err, 0) // no connection, or none in time
	}
	defer resp.Body.Close()
	return c.read(resp)
}

// read reads an answer up to the bound.
func (c *Client) read(resp *http.Response) (Answer, error) {
	data, err := io.ReadAll(io.LimitReader(resp.Body, c.most+1))
	if err != nil {
		return Answer{}, c.clean(err)
	}
	kept := data[:min(int64(len(data)), c.most)]
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: kept, Cut: len(kept) < len(data)}, nil
}

// watched is a call's body. A transport reads it when it is about to write the
// call, so a call whose body was not read has certainly not left.
type watched struct {
	body  *bytes.Reader
	taken *atomic.Bool
}

func (w *watched) Read(p []byte) (int, error) {
	w.taken.Store(true)
	return w.body.Read(p)
}

func (w *watched) Close() error { return nil }

// clean takes the address, which may hold a secret, out of an error of net/http.
func (c *Client) clean(err error) error {
	var withURL *url.Error
	if errors.As(err, &withURL) {
		err = withURL.Err
	}
	if text := err.Error(); c.secret != "" && strings.Contains(text, c.secret) {
		return errors.New(strings.ReplaceAll(text, c.secret, "<secret>"))
	}
	return fmt.Errorf("no answer: %w", err)
}
