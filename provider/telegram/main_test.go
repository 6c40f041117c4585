package telegram

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
)

const testSecret = "webhook_Secret-1"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newReceiver(t testing.TB) *Receiver {
	t.Helper()
	r, err := NewReceiver(ReceiverConfig{Secret: testSecret})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func signed() http.Header { return http.Header{SecretHeader: {testSecret}} }

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

func groupKey(chat, participant string) botmesh.ChatKey {
	return botmesh.ChatKey{Provider: ID, Chat: chat, Participant: participant}
}
