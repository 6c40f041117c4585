package outbox

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// The words of the wire stay as they are: chains outlive builds.
func TestEntryOnTheWire(t *testing.T) {
	t.Parallel()
	wire := `{"v":1,"id":"n.1","by":"r/1","kind":"receipt","calls":2,"through":7,"parts":1,"tries":2,` +
		`"not_before":"2026-12-01T09:00:00Z","doubt":1,"receipt":{"part":"p","result":"delivered","attempts":3,"in_doubt":true,"at":"2026-12-01T08:00:00Z"}}`
	l, err := decodeEntry(jet.Stored{Msg: jet.Msg{Data: []byte(wire)}, Seq: 9})
	if err != nil {
		t.Fatal(err)
	}
	want := link{9, entry{
		V: 1, ID: "n.1", By: "r/1", Kind: kindReceipt, Calls: 2,
		position: position{Through: 7, Parts: 1, Tries: 2, NotBefore: time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC), Doubt: 1},
		Receipt: &botmesh.Receipt{
			Part: "p", Result: botmesh.ResultDelivered, Attempts: 3, InDoubt: true, At: time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC),
		},
	}}
	if diff := cmp.Diff(want, l, cmp.AllowUnexported(link{}, entry{})); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
	if again, err := json.Marshal(l.entry); err != nil || string(again) != wire {
		t.Errorf("written again: got %s, error %v, want %s", again, err, wire)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"v":1,"id":"a","kind":"claim","through":3}`))
	f.Add([]byte(`{"v":2}`))
	f.Add([]byte(`{"v":1,"parts":-1}`))
	f.Add([]byte(`{"id":"l","parts":[{"id":"p","send":{"text":"x"}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := jet.Stored{Msg: jet.Msg{Data: data}}
		if l, err := decodeEntry(m); err == nil && (l.V > format || l.Parts < 0 || l.Calls < 0 || l.Doubt < 0) {
			t.Errorf("entry %s: got %+v, want an error", data, l)
		}
		if _, err := decodeLetter(m); err != nil && errors.Is(err, botmesh.ErrRefused) {
			t.Errorf("letter %s: got error %v, want one that is not retried", data, err)
		}
	})
}
