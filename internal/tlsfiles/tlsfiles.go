// Package tlsfiles makes the TLS settings of servers and clients from PEM files.
//
// Certificates are renewed while programs run: a changed pair of files is read at the
// next handshake, and one that can not be read leaves the last good one in place.
//
// What belongs here: files turned into a tls.Config. Which connection uses it is the
// caller's.
package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// Files are the paths of PEM files. All may be empty.
type Files struct {
	// CA are the certificates that a client trusts, in place of the machine's.
	CA string
	// Cert and Key are what one shows of oneself: both or none.
	Cert, Key string
}

// Client is how a client connects, TLS 1.2 or newer, or nil if there are no files. CA
// is read once, Cert and Key again when they change. The server's name is always
// checked.
func Client(f Files, log *slog.Logger) (*tls.Config, error) {
	if f == (Files{}) {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		pem, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("tlsfiles: reading the authorities: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tlsfiles: %s holds no certificate in PEM", f.CA)
		}
	}
	if f.Cert == "" && f.Key == "" {
		return cfg, nil
	}
	p, err := open(f, log)
	if err != nil {
		return nil, err
	}
	cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return p.current(), nil }
	return cfg, nil
}

// Server is how a server answers, TLS 1.2 or newer, or nil if there are no files.
func Server(f Files, log *slog.Logger) (*tls.Config, error) {
	if f.Cert == "" && f.Key == "" {
		return nil, nil
	}
	p, err := open(f, log)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.current(), nil },
	}, nil
}

// pair is a certificate and its key as they are in their files.
type pair struct {
	files Files
	log   *slog.Logger
	last  atomic.Pointer[loaded]
}

// loaded is a pair as it was read, and when its files were written.
type loaded struct {
	cert      *tls.Certificate
	from, key time.Time
}

func open(f Files, log *slog.Logger) (*pair, error) {
	if f.Cert == "" || f.Key == "" {
		return nil, errors.New("tlsfiles: a certificate needs its key, and a key its certificate")
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	p := &pair{files: f, log: log}
	read, err := p.read(loaded{})
	if err != nil {
		return nil, err
	}
	p.last.Store(read)
	return p, nil
}

// current is the certificate of now. Handshakes at once may each read a change.
func (p *pair) current() *tls.Certificate {
	last := p.last.Load()
	switch read, err := p.read(*last); {
	case err != nil:
		p.log.Warn("the certificate was not renewed", "err", err)
	case read != nil:
		p.last.Store(read)
		return read.cert
	}
	return last.cert
}

// read loads the files if they were written since last, else it returns nil.
func (p *pair) read(last loaded) (*loaded, error) {
	cert, err := os.Stat(p.files.Cert)
	if err != nil {
		return nil, fmt.Errorf("tlsfiles: certificate: %w", err)
	}
	key, err := os.Stat(p.files.Key)
	if err != nil {
		return nil, fmt.Errorf("tlsfiles: key: %w", err)
	}
	if cert.ModTime().Equal(last.from) && key.ModTime().Equal(last.key) {
		return nil, nil
	}
	both, err := tls.LoadX509KeyPair(p.files.Cert, p.files.Key)
	if err != nil {
		return nil, fmt.Errorf("tlsfiles: %s with %s: %w", p.files.Cert, p.files.Key, err)
	}
	return &loaded{&both, cert.ModTime(), key.ModTime()}, nil
}
