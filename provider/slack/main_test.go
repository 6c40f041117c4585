package slack

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
)

const (
	testSecret = "signing-secret-1"
	testToken  = "xoxb-1-secret"

	nora = "U0NORA001"
	team = "T0TEST001"
	hall = "C0HALL001"
	dm   = "D0NORA001"
)

var noon = time.Unix(1797000000, 0).UTC()

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func receiverAt(t testing.TB, now time.Time) *Receiver {
	t.Helper()
	r, err := NewReceiver(ReceiverConfig{SigningSecret: testSecret, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func direct(chat string) botmesh.ChatKey { return botmesh.ChatKey{Provider: ID, Chat: chat} }

func in(chat, participant string) botmesh.ChatKey {
	return botmesh.ChatKey{Provider: ID, Chat: chat, Participant: participant}
}
