package standardwebhooks

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// secret is "standard-webhooks-test-key-1", other is "another-webhooks-test-key-02".
const (
	secret = "whsec_c3RhbmRhcmQtd2ViaG9va3MtdGVzdC1rZXktMQ=="
	other  = "whsec_YW5vdGhlci13ZWJob29rcy10ZXN0LWtleS0wMg=="
)

var noon = time.Unix(1797000000, 0).UTC()

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func receiverAt(t testing.TB, now time.Time, secrets string) *Receiver {
	t.Helper()
	r, err := NewReceiver(ReceiverConfig{Secret: secrets, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func header(t testing.TB, id string, body []byte) http.Header {
	t.Helper()
	h, err := Sign(secret, id, noon, body)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
