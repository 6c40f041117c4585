package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// admin asks replicas; a connection of its own for each question, so that a
// process that was replaced is never asked by accident.
var admin = &http.Client{Timeout: adminTimeout, Transport: &http.Transport{DisableKeepAlives: true}}

func (r *Replica) get(ctx context.Context, path string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Admin+path, nil)
	if err != nil {
		return 0, "", fmt.Errorf("fleet: %w", err)
	}
	resp, err := admin.Do(req)
	if err != nil {
		return 0, "", fmt.Errorf("fleet: asking %s: %w", r.Name, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, "", fmt.Errorf("fleet: asking %s: %w", r.Name, err)
	}
	return resp.StatusCode, string(b), nil
}

// Status is what a replica says of itself on /statusz: a worker of its lanes, an
// ingress of its sessions.
type Status struct {
	Replica     string    `json:"replica"`
	Incarnation string    `json:"incarnation"`
	Draining    bool      `json:"draining"`
	Lanes       []Lane    `json:"lanes"`
	Sessions    []Session `json:"sessions"`
}

// Session is a session that an ingress holds or stands by for.
type Session struct {
	Role  string `json:"role"`
	Fence uint64 `json:"fence"`
	Open  bool   `json:"open"`
}

// Lane is a chat that a worker has work for.
type Lane struct {
	Chat  string `json:"chat"`
	Phase string `json:"phase"`
}

// turns are the phases in which a lane has the chat's turn.
var turns = []string{"holding", "running", "backoff", "delivering"}

// Holding are the chats whose turn the worker has.
func (s Status) Holding() (chats []string) {
	for _, l := range s.Lanes {
		if slices.Contains(turns, l.Phase) {
			chats = append(chats, l.Chat)
		}
	}
	return chats
}

// Status asks a replica for its status.
func (r *Replica) Status(ctx context.Context) (Status, error) {
	code, body, err := r.get(ctx, "/statusz")
	if err != nil {
		return Status{}, err
	}
	var s Status
	if err := json.Unmarshal([]byte(body), &s); err != nil || code != http.StatusOK {
		return Status{}, fmt.Errorf("fleet: statusz of %s: %d %s (%v)", r.Name, code, body, err)
	}
	return s, nil
}

// Metrics are one reading of a replica's /metrics.
type Metrics []sample

type sample struct {
	name   string
	labels string // as written, with the braces
	value  float64
}

// Metrics reads the replica's metrics.
func (r *Replica) Metrics(ctx context.Context) (Metrics, error) {
	code, body, err := r.get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	if code != http.StatusOK {
		return nil, fmt.Errorf("fleet: metrics of %s: %d %s", r.Name, code, body)
	}
	m, err := parseMetrics(body)
	if err != nil {
		return nil, fmt.Errorf("fleet: metrics of %s: %w", r.Name, err)
	}
	return m, nil
}

// parseMetrics reads the Prometheus text format, as far as sums of it need.
func parseMetrics(text string) (Metrics, error) {
	var m Metrics
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		var s sample
		end := strings.LastIndexByte(line, '}') + 1
		if end > 0 {
			open := strings.IndexByte(line, '{')
			s.name, s.labels = line[:open], line[open:end]
		} else {
			end = strings.IndexByte(line, ' ')
			if end < 0 {
				return nil, fmt.Errorf("no value in %q", line)
			}
			s.name = line[:end]
		}
		fields := strings.Fields(line[end:])
		if len(fields) == 0 {
			return nil, fmt.Errorf("no value in %q", line)
		}
		var err error
		if s.value, err = strconv.ParseFloat(fields[0], 64); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		m = append(m, s)
	}
	return m, lines.Err()
}

// Sum adds up the series of a name that have all of the labels, each written
// name="value". It is zero if there is none.
func (m Metrics) Sum(name string, labels ...string) float64 {
	var sum float64
series:
	for _, s := range m {
		if s.name != name {
			continue
		}
		for _, l := range labels {
			if !strings.Contains(s.labels, "{"+l) && !strings.Contains(s.labels, ","+l) {
				continue series
			}
		}
		sum += s.value
	}
	return sum
}
