package tlsfiles_test

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"os"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh/internal/tlsfiles"
	"github.com/botmesh-go/botmesh/internal/tlsfiles/tlstest"
)

func TestNoFilesAreNoTLS(t *testing.T) {
	t.Parallel()
	client, err := tlsfiles.Client(tlsfiles.Files{}, nil)
	server, serr := tlsfiles.Server(tlsfiles.Files{}, nil)
	if client != nil || server != nil || err != nil || serr != nil {
		t.Errorf("got %v, %v and errors %v, %v, want nothing", client, server, err, serr)
	}
}

func TestFilesThatAreWrongAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := tlstest.New(t).Pair(t, dir, "one")
	for name, f := range map[string]tlsfiles.Files{
		"no key":       {Cert: cert},
		"no cert":      {Key: key},
		"key for cert": {Cert: key, Key: key},
		"absent":       {Cert: dir + "/none", Key: key},
	} {
		if _, err := tlsfiles.Server(f, nil); err == nil {
			t.Errorf("server with %s: got no error", name)
		}
		if _, err := tlsfiles.Client(f, nil); err == nil {
			t.Errorf("client with %s: got no error", name)
		}
	}
	if _, err := tlsfiles.Client(tlsfiles.Files{CA: dir + "/none"}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent authorities: got %v", err)
	}
	if _, err := tlsfiles.Client(tlsfiles.Files{CA: key}, nil); err == nil {
		t.Error("a key for authorities: got no error")
	}
}

// A renewed pair is shown at the next handshake, half of one never.
func TestARenewedCertificateIsShown(t *testing.T) {
	t.Parallel()
	a, dir := tlstest.New(t), t.TempDir()
	cert, key := a.Pair(t, dir, "one")
	server, err := tlsfiles.Server(tlsfiles.Files{Cert: cert, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := tlsfiles.Client(tlsfiles.Files{CA: a.CA}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := shown(t, server, client); got != "one" {
		t.Errorf("got the certificate of %q, want one", got)
	}
	other := t.TempDir()
	newCert, newKey := a.Pair(t, other, "two")
	replace(t, newCert, cert, 1)
	if got := shown(t, server, client); got != "one" {
		t.Errorf("with another's key: got the certificate of %q, want the last good one", got)
	}
	replace(t, newKey, key, 2)
	if got := shown(t, server, client); got != "two" {
		t.Errorf("renewed: got the certificate of %q, want two", got)
	}
}

// replace puts a file in the place of another, that many seconds newer.
func replace(t *testing.T, from, to string, newer int) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(time.Duration(newer) * time.Second)
	if err := os.Chtimes(to, at, at); err != nil {
		t.Fatal(err)
	}
}

// shown is whose certificate a client of 127.0.0.1 sees and trusts.
func shown(t *testing.T, server, client *tls.Config) string {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	done := make(chan error, 1)
	go func() { done <- tls.Server(far, server).HandshakeContext(t.Context()) }()
	client = client.Clone()
	client.ServerName = "127.0.0.1"
	conn := tls.Client(near, client)
	if err := conn.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	near.Close() // what the server says after it is of no interest
	<-done
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
}
