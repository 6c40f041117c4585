package flowtest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh/flow"
)

// Lock compares flows with the [flow.Lock] in a file that is kept beside the code. It
// fails the test where they differ, and says what becomes of the chats that wait at that
// moment: a change that nobody meant is noticed before it is deployed. With "go test
// -update" the file is written anew, in a folder that is made if it is not there, to be
// read and committed.
func Lock(t testing.TB, file string, flows ...flow.Definition) {
	t.Helper()
	now := flow.Lock(flows...)
	if flag.Lookup("update").Value.String() == "true" {
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil {
			err = os.WriteFile(file, []byte(now), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	locked, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; write it with -update", err)
	}
	if string(locked) == now {
		return
	}
	told := "nothing, as nobody can wait there yet"
	if changes := flow.Diff(string(locked), now); len(changes) > 0 {
		told = "\n" + strings.Join(changes, "\n")
	}
	t.Errorf("%s: the flows are others now. What waiting chats notice: %s\nIf that is right, write it with -update.", file, told)
}
