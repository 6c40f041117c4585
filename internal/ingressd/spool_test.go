package ingressd

import (
	"net/http"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/natstest"
)

// Without NATS an ingress that may keep messages answers 200 and is ready, says so, and
// is neither once its disk holds as much as it may. A second one can not share its
// directory.
//
// SPEC: J1
func TestAnIngressKeepsWhatNATSDoesNotTake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := settings(t, "BOTMESH_NATS_URL=nats://127.0.0.1:1", "BOTMESH_SPOOL_DIR="+dir, "BOTMESH_SPOOL_MAX_BYTES=1500")
	in, _, _ := start(t, Config{Settings: s})
	if err := in.Ready(t.Context()); err != nil {
		t.Errorf("ready: got %v, want that it is", err)
	}
	if got := post(t, in); got != http.StatusOK {
		t.Errorf("got %d, want 200: it is kept", got)
	}
	if got := in.Status().Spool; got == nil || got.Messages != 1 || got.Full {
		t.Errorf("status: got %+v, want one message", got)
	}
	if got := in.note(); !strings.Contains(got, "1 messages wait on the disk") {
		t.Errorf("note: got %q, want what waits", got)
	}
	_, err := New(t.Context(), Config{Settings: s})
	if err == nil || !config.IsWrong(err) || !strings.Contains(err.Error(), "BOTMESH_SPOOL_DIR") {
		t.Errorf("a second ingress: got %v, want that the directory is taken", err)
	}
	natstest.Until(t, "full", func() bool { return post(t, in) == http.StatusServiceUnavailable })
	if got := in.Status().Spool; got.Messages < 2 || !got.Full || in.Ready(t.Context()) == nil {
		t.Errorf("status: got %+v, want what fits, full and not ready", got)
	}
}
