package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh/e2e/history"
)

// follower reads the histories of a run while they are written, and keeps what
// faults look for: who holds which turn, and what was out of the ordinary lately.
type follower struct {
	dir string

	mu    sync.Mutex
	read  map[string]int64            // by file, how far
	holds map[string]map[string]int64 // by process and chat, since when
	seen  []history.Event             // in the order in which they were read
	err   error
}

// remembered bounds what is kept of a long run.
const remembered = 100_000

func newFollower(dir string) *follower {
	return &follower{dir: dir, read: map[string]int64{}, holds: map[string]map[string]int64{}}
}

// run follows until ctx ends.
func (f *follower) run(ctx context.Context) {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		f.poll()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// poll reads what is new.
func (f *follower) poll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	files, err := filepath.Glob(filepath.Join(f.dir, "*"+history.Suffix))
	for _, file := range files {
		if err == nil {
			err = f.more(file)
		}
	}
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("lab: following the histories: %w", err)
	}
}

// more reads the whole lines that were added to a file. A line is written at once,
// but a process may be seen in the middle of writing it.
func (f *follower) more(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	data, err := io.ReadAll(io.NewSectionReader(file, f.read[path], 1<<62))
	if err != nil {
		return err
	}
	for {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if !whole {
			return nil
		}
		var e history.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
		f.note(e)
		f.read[path] += int64(len(line)) + 1
		data = rest
	}
}

// note is called with the lock held.
func (f *follower) note(e history.Event) {
	switch {
	case e.Kind == history.Take && e.Outcome == history.Granted:
		f.granted(e)
	case e.Kind == history.Release && e.Phase != history.Ended, e.Kind == history.Lost:
		delete(f.holds[e.Process], e.Chat)
	case e.Kind == history.Exited:
		delete(f.holds, e.Target)
	}
	if notable(e) {
		f.seen = append(f.seen, e)
	}
	if len(f.seen) > remembered {
		f.seen = slices.Delete(f.seen, 0, remembered/2)
	}
}

// granted takes in that a process has a chat's turn, which no other has then, whether
// that one heard of it yet or not. Of two files the later event may be read first.
func (f *follower) granted(e history.Event) {
	for _, chats := range f.holds {
		if since, ok := chats[e.Chat]; ok && since > e.T {
			return
		}
		delete(chats, e.Chat)
	}
	if f.holds[e.Process] == nil {
		f.holds[e.Process] = map[string]int64{}
	}
	f.holds[e.Process][e.Chat] = e.T
}

// notable says whether a fault may look for an event.
func notable(e history.Event) bool {
	switch e.Kind {
	case history.Take, history.Lost, history.Stall, history.Point, history.Exited:
		return true
	case history.Webhook, history.Commit, history.Release:
		return e.Phase == history.Ended
	}
	return e.Outcome == history.Unknown
}

// held are the chats whose turn a process has, as far as it said.
func (f *follower) held(process string) (chats []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for chat := range f.holds[process] {
		chats = append(chats, chat)
	}
	return chats
}

// holder is the process that has a chat's turn, as far as any said.
func (f *follower) holder(chat string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p, chats := range f.holds {
		if _, ok := chats[chat]; ok {
			return p
		}
	}
	return ""
}

// count counts the notable events from a moment on that match.
func (f *follower) count(from int64, match func(history.Event) bool) (n int) {
	f.each(from, func(e history.Event) {
		if match(e) {
			n++
		}
	})
	return n
}

// turns counts the turns that were asked for from one moment to another or waited for by
// then, and those asked for and granted in that time. An answer to an earlier question is
// none: a process that was frozen reads it late.
func (f *follower) turns(from, to int64) (asked, got int) {
	type question struct {
		process, start string
		n              uint64
	}
	open := map[question]int64{}
	f.each(0, func(e history.Event) {
		switch {
		case e.Kind == history.Exited && e.T < from:
			maps.DeleteFunc(open, func(q question, _ int64) bool { return q.process == e.Target })
		case e.Kind != history.Take || e.T >= to:
		case e.Phase == history.Began:
			open[question{e.Process, e.Start, e.N}] = e.T
		case e.T < from:
			delete(open, question{e.Process, e.Start, e.Of})
		case granted(e) && open[question{e.Process, e.Start, e.Of}] >= from:
			got++
		}
	})
	return len(open), got
}

// each tells the notable events from a moment on, in the order in which they were
// read.
func (f *follower) each(from int64, tell func(history.Event)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.seen {
		if e.T >= from {
			tell(e)
		}
	}
}

// await waits until at least one event from a moment on matches, and counts them.
// Zero means that none did in time.
func (f *follower) await(ctx context.Context, within time.Duration, from int64, match func(history.Event) bool) int {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		if n := f.count(from, match); n > 0 || ctx.Err() != nil {
			return n
		}
		wait(ctx, 50*time.Millisecond)
	}
}

// failed is what kept the follower from reading.
func (f *follower) failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// wait waits, and is false if ctx ends first.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// insist makes a call that may be made again until it gives no error, for some time.
func insist(ctx context.Context, within time.Duration, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		err := call(ctx)
		if err == nil || !wait(ctx, 200*time.Millisecond) {
			return err
		}
	}
}
