package whatsapp

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
)

const (
	testSecret = "app-secret-1"
	testVerify = "verify-token-1"
	testToken  = "EAAG_access-token-1"
	testNumber = "700100200300400"

	nora      = "US.70030000000000000001"
	noraPhone = "15550170023"
	ivo       = "US.70030000000000000002"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newReceiver(t testing.TB, number string) *Receiver {
	t.Helper()
	r, err := NewReceiver(ReceiverConfig{AppSecret: testSecret, VerifyToken: testVerify, PhoneNumberID: number})
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

func key(chat string) botmesh.ChatKey {
	return botmesh.ChatKey{Provider: ID, Chat: chat}
}
