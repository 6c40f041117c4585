package history

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// The variables that tell a program where to write its history, and under which
// name.
const (
	EnvFile    = "BOTMESH_LAB_HISTORY"
	EnvProcess = "BOTMESH_LAB_PROCESS"
)

// Log is a process's history, to be written. A nil Log writes nothing. Safe for
// concurrent use.
type Log struct {
	file    *os.File
	process string
	start   string
	n       atomic.Uint64
}

// Open appends to a file, which is made if absent, under the process's name.
func Open(path, process string) (*Log, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	return &Log{file: f, process: process, start: rand.Text()[:8]}, nil
}

// FromEnv opens the log that the environment names, nil if it names none.
func FromEnv() (*Log, error) {
	path := os.Getenv(EnvFile)
	if path == "" {
		return nil, nil
	}
	return Open(path, os.Getenv(EnvProcess))
}

// Note writes an event without length and returns its number. Its place and clocks
// are filled in here.
//
// The line is with the kernel when Note returns. A line that can not be written
// ends the process: a history with holes proves nothing.
func (l *Log) Note(e Event) uint64 {
	if l == nil {
		return 0
	}
	e.Process, e.Start, e.N = l.process, l.start, l.n.Add(1)
	e.T, e.Wall = Now(), time.Now().UTC()
	line, err := json.Marshal(e)
	if err == nil {
		// One write of a file opened for appending: lines never mix.
		_, err = l.file.Write(append(line, '\n'))
	}
	if err != nil {
		panic(fmt.Sprintf("history: write %s: %v", l.file.Name(), err))
	}
	return e.N
}

// Begin writes the call of an operation and returns its number, for End.
func (l *Log) Begin(e Event) uint64 {
	e.Phase = Began
	return l.Note(e)
}

// End writes the result of the operation that Begin numbered.
func (l *Log) End(call uint64, e Event) {
	e.Phase, e.Of = Ended, call
	l.Note(e)
}

// Close closes the file. Nothing is written after it.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	return l.file.Close()
}
