package rediscoord_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/botmesh-go/botmesh/internal/redistest"
)

// The program in docs/coordination.md is the one that is built here.
func TestTheDocumentShowsAProgramThatBuilds(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../docs/coordination.md")
	if err != nil {
		t.Fatal(err)
	}
	built, err := os.ReadFile("example_program_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(document), "```go\npackage main")
	shown, _, _ = strings.Cut(shown, "```")
	want := strings.NewReplacer("package rediscoord_test", "", "func Example_program()", "func main()").Replace(string(built))
	if shown != want {
		t.Error("the program in docs/coordination.md is not that of example_program_test.go")
	}
}

// It does what it says: two replicas handle many orders of few customers, and none is
// lost or counted twice.
//
// SPEC: T1 L3.
func TestProgram(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	orders, bank := make(chan Order), &Bank{}
	ctx, stop := context.WithCancel(t.Context())
	var replicas sync.WaitGroup
	for range 2 {
		replicas.Go(func() {
			if err := serve(ctx, server.URL(), orders, bank); err != nil {
				t.Error(err)
			}
		})
	}
	customers := []string{"ada", "ben", "cy"}
	const each = 20
	for range each {
		for _, customer := range customers {
			orders <- Order{customer, 5}
		}
	}
	eventually(t, "all is booked", func() bool {
		for _, customer := range customers {
			if got, _ := bank.Balance(ctx, customer); got != each*5 {
				return false
			}
		}
		return true
	})
	stop()
	replicas.Wait()
}
