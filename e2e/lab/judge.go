package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/history"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/journal"
	"github.com/botmesh-go/botmesh/outbox"
)

// shardSize is how much of the evidence is in memory at once, in bytes of its files:
// read, it takes several times as much.
const shardSize = 96 << 20

// shard is one of several parts of the chats.
type shard struct{ i, of uint32 }

func (s shard) has(chat string) bool {
	h := fnv.New32a()
	h.Write([]byte(chat))
	return chat != "" && h.Sum32()%s.of == s.i
}

// judge judges what a run left in a directory, some chats at a time. What it returns of
// the evidence is what is of no chat.
func judge(dir string) (check.Evidence, check.Verdict, error) {
	e, err := recall(dir)
	if err != nil {
		return e, check.Verdict{}, err
	}
	n, err := shards(dir)
	if err != nil {
		return e, check.Verdict{}, err
	}
	j := check.Begin(e)
	for i := range n {
		part, err := read(dir, e.Bot, shard{i, n})
		if err != nil {
			return e, check.Verdict{}, err
		}
		j.Chats(part)
	}
	return e, j.Verdict(), nil
}

// shards is how many parts the evidence in a directory is judged in.
func shards(dir string) (uint32, error) {
	var size int64
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != history.Suffix {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("lab: %w", err)
	}
	return uint32(size/shardSize) + 1, nil
}

// recall is the evidence of no chat that a run left in a directory.
func recall(dir string) (e check.Evidence, err error) {
	b, err := os.ReadFile(filepath.Join(dir, evidenceFile))
	if err != nil {
		return e, fmt.Errorf("lab: %w", err)
	}
	if err := json.Unmarshal(b, &e); err != nil {
		return e, fmt.Errorf("lab: %s: %w", evidenceFile, err)
	}
	e.Events, err = history.ReadDir(historyDir(dir), func(chat string) bool { return chat == "" })
	return e, err
}

// read is the evidence of a shard's chats.
func read(dir, bot string, of shard) (e check.Evidence, err error) {
	var errs []error
	for stream, to := range map[string]*[]jet.Stored{
		journal.InboxStream(bot): &e.Inbox, outbox.StreamName(bot): &e.Outbox,
		journal.DeadStream(bot): &e.Dead, natsstore.Stream(bot, 0).Name: &e.Checkpoints,
	} {
		var err error
		*to, err = check.Restore(dumpFile(dir, stream), func(subject string) bool { return of.has(check.ChatOf(bot, subject)) })
		errs = append(errs, err)
	}
	e.Events, err = history.ReadDir(historyDir(dir), of.has)
	return e, errors.Join(append(errs, err)...)
}
