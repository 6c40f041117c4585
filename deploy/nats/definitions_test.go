package nats_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/streams"
)

var update = flag.Bool("update", false, "write the stream definitions anew")

// The files are what the code wants, for who makes streams with other tools.
func TestTheStreamDefinitionsAreTheCodes(t *testing.T) {
	t.Parallel()
	for _, want := range wanted(3) {
		file := filepath.Join("streams", want.Name+".json")
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(want); err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b.String(), string(got)); diff != "" {
			t.Errorf("%s: run go test -update (-code +file):\n%s", file, diff)
		}
	}
}

// A stream made of a file lacks its epoch alone, which apply gives it.
func TestTheStreamDefinitionsMakeTheStreams(t *testing.T) {
	t.Parallel()
	conn := dial(t, natstest.Start(t))
	for _, want := range wanted(1) {
		text, err := os.ReadFile(filepath.Join("streams", want.Name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var cfg jetstream.StreamConfig
		if err := json.Unmarshal(text, &cfg); err != nil {
			t.Fatal(err)
		}
		cfg.Replicas = 1
		if _, err := conn.JetStream().CreateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	err := streams.Ensure(t.Context(), conn.JetStream(), streams.Verify, wanted(1))
	var differ *streams.DifferError
	if !errors.As(err, &differ) {
		t.Fatalf("got %v, want the epochs to be missed", err)
	}
	for _, c := range differ.Diff {
		if len(c.Fields) != 1 || c.Fields[0].Name != "metadata."+streams.EpochKey {
			t.Errorf("%s: got %v, want the epoch alone", c.Stream, c.Fields)
		}
	}
	if _, err := streams.Apply(t.Context(), conn.JetStream(), wanted(1)); err != nil {
		t.Fatal(err)
	}
	if err := streams.Ensure(t.Context(), conn.JetStream(), streams.Verify, wanted(1)); err != nil {
		t.Errorf("after apply: got %v", err)
	}
}
