package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is the unit of processor times in /proc, the same on every Linux.
const tick = time.Second / 100

// Usage is what a process has cost since it began.
type Usage struct {
	CPU  time.Duration // user and system, in steps of 10 ms
	Peak int64         // the most memory it held, in bytes
}

// Usage reads what the child has cost so far. It works on Linux only.
func (c *Child) Usage() (Usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Pid()))
	if err != nil {
		return Usage{}, fmt.Errorf("proc: usage of %s: %w", c.name, err)
	}
	cpu, err := cpuTime(stat)
	if err != nil {
		return Usage{}, fmt.Errorf("proc: usage of %s: %w", c.name, err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Pid()))
	if err != nil {
		return Usage{}, fmt.Errorf("proc: usage of %s: %w", c.name, err)
	}
	peak, err := peakMemory(status)
	if err != nil {
		return Usage{}, fmt.Errorf("proc: usage of %s: %w", c.name, err)
	}
	return Usage{CPU: cpu, Peak: peak}, nil
}

// cpuTime reads utime and stime, the 14th and 15th field of /proc/<pid>/stat. The
// second field is the program's name in parentheses, which may hold anything.
func cpuTime(stat []byte) (time.Duration, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("short stat %q", stat)
	}
	var sum time.Duration
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("stat %q: %w", stat, err)
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// peakMemory reads the line "VmHWM: <n> kB" of /proc/<pid>/status.
func peakMemory(status []byte) (int64, error) {
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			n, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("kB")))), 10, 64)
			return n * 1024, err
		}
	}
	return 0, fmt.Errorf("status without VmHWM")
}
