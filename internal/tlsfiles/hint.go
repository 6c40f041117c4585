package tlsfiles

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
)

// Hint adds to the error of a client's connection what can be done about it, where TLS
// is the reason. The settings ca and cert are the names under which its CA and Cert are
// given.
func Hint(err error, ca, cert string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)), strings.Contains(text, "signed by unknown authority"):
		return fmt.Errorf("%w: does %s have the authority that signed the server's certificate?", err, ca)
	case strings.Contains(text, "remote error: tls: "):
		return fmt.Errorf("%w: the server refused the connection: does it trust the certificate in %s?", err, cert)
	}
	return err
}
