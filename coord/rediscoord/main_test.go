package rediscoord_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

// holderURL names the variable that makes this test binary the holder of a turn.
const holderURL = "REDISCOORD_TEST_HOLDER"

// asHolder is what it does then.
var asHolder func(url string) error

func TestMain(m *testing.M) {
	logging.Disable() // connections fail here on purpose
	if url := os.Getenv(holderURL); url != "" {
		if err := asHolder(url); err != nil {
			fmt.Println("failed", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
