package ingressd

import (
	"crypto/x509"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/tlsfiles"
	"github.com/botmesh-go/botmesh/internal/tlsfiles/tlstest"
	"github.com/botmesh-go/botmesh/provider/telegram"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

// With a certificate the public address is HTTPS alone, for those who trust its authority.
//
// SPEC: X3
func TestWebhooksOverTLS(t *testing.T) {
	t.Parallel()
	ours, others := tlstest.New(t), tlstest.New(t)
	cert, key := ours.Pair(t, t.TempDir(), "ingress")
	in, _, _ := start(t, Config{Settings: settings(t, "BOTMESH_NATS_URL="+natstest.Start(t), "BOTMESH_TLS_CERT="+cert, "BOTMESH_TLS_KEY="+key)})
	ready(t, in)
	post := func(scheme, authority string) (status int, err error) {
		t.Helper()
		trusts, err := tlsfiles.Client(tlsfiles.Files{CA: authority}, nil)
		if err != nil {
			t.Fatal(err)
		}
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: trusts}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, scheme+"://"+in.Addr()+"/webhooks/telegram", strings.NewReader(string(telegramtest.Text(1, 7, "hi"))))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(telegram.SecretHeader, secret)
		resp, err := client.Do(req)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, resp.Body.Close()
	}
	if status, err := post("https", ours.CA); status != http.StatusOK || err != nil {
		t.Errorf("got %d and %v, want 200", status, err)
	}
	if _, err := post("https", others.CA); !errors.As(err, new(x509.UnknownAuthorityError)) {
		t.Errorf("who trusts another authority: got %v, want no connection", err)
	}
	if status, _ := post("http", ours.CA); status == http.StatusOK {
		t.Error("got a webhook taken without TLS")
	}
}
