package worker

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/internal/config"
)

// lockFile is where the lock of the flows is, if no other file is named.
const lockFile = "flows.lock"

const flowsUsage = "want: flows lock [file] or flows diff [file]; the file defaults to " + lockFile

// errStrands says that a newer build strands chats that wait.
var errStrands = errors.New("chats that wait there could not go on: rename a step with Was, keep a field's type, or say with OnChanged what becomes of them. " +
	"If that is as it should be, write the file anew with: flows lock")

// flows does what is asked about the bot's flows, and returns what there is to tell. An
// error marked by config.Wrong is one of the command or the bot.
func flows(b *bot.Bot, args []string) (string, error) {
	if len(args) < 1 || len(args) > 2 {
		return "", config.Wrong(errors.New(flowsUsage))
	}
	if err := b.Validate(); err != nil {
		return "", config.Wrong(err)
	}
	file := lockFile
	if len(args) == 2 {
		file = args[1]
	}
	now := b.Lock()
	switch args[0] {
	case "lock":
		if err := os.WriteFile(file, []byte(now), 0o644); err != nil {
			return "", fmt.Errorf("worker: writing the lock: %w", err)
		}
		return file + " is written, to be kept beside the code\n", nil
	case "diff":
		return diffFlows(file, now)
	}
	return "", config.Wrong(errors.New(flowsUsage))
}

// diffFlows compares the flows with those that a file locks.
func diffFlows(file, now string) (string, error) {
	locked, err := os.ReadFile(file)
	if err != nil {
		return "", config.Wrong(fmt.Errorf("%w: write it with: flows lock", err))
	}
	if string(locked) == now {
		return "the flows are as in " + file + "\n", nil
	}
	told := "chats that wait go on as they are; " + file + " is to be written anew with: flows lock\n"
	if changes := flow.Diff(string(locked), now); len(changes) > 0 {
		told = strings.Join(changes, "\n") + "\n"
	}
	if len(flow.Strands(string(locked), now)) > 0 {
		return told, errStrands
	}
	return told, nil
}
