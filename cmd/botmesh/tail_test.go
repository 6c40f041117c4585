package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/botmesh-go/botmesh/admin"
)

// A tail shows what happens as it happens, asking a worker or the servers, of a chat or of
// all, and ends well when it is interrupted.
func TestATailFollowsWhatHappens(t *testing.T) {
	t.Parallel()
	const token = "BOTMESH_ADMIN_TOKEN=0123456789abcdef"
	private, nats := freeAddr(t), freeNATS(t)
	dev := startDev(t, t.TempDir(), nats, token, "BOTMESH_ADMIN_LISTEN="+private)
	b := newBrowser(t, dev.addr)
	b.say("/count")
	if got := b.hear(); got != "count: 1" {
		t.Fatalf("got %q, want count: 1", got)
	}
	chat := "webchat/" + b.chat
	servers := []string{"BOTMESH_NATS_URL=" + nats, "BOTMESH_REDIS_URL=redis://127.0.0.1:1/0"}
	worker := []string{"BOTMESH_ADMIN_URL=http://" + private, token}
	for name, tail := range map[string]struct {
		env  []string
		args []string
		chat string
	}{
		"a worker, a chat":       {worker, []string{chat}, ""},
		"a worker, all":          {worker, nil, chat},
		"the servers, all, text": {servers, []string{"--text"}, chat},
	} {
		cmd := command(t, tail.env, append([]string{"chats", "tail", "-o", "json", "--last=1"}, tail.args...)...)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		next := func() (e admin.Event) {
			if !lines.Scan() {
				t.Fatalf("%s: the tail ended: %v", name, lines.Err())
			}
			must(t, json.Unmarshal(lines.Bytes(), &e))
			return e
		}
		next() // it follows
		b.say("/count")
		heard := b.hear()
		var kinds []string
		for !slices.Contains(kinds, "record") || !slices.Contains(kinds, "receipt") {
			e := next()
			kinds = append(kinds, e.Kind)
			if e.Chat != tail.chat {
				t.Errorf("%s: got an event of %q, want of %q", name, e.Chat, tail.chat)
			}
			if with := slices.Contains(tail.args, "--text"); e.Kind == "letter" && (e.Text == heard) != with {
				t.Errorf("%s: got the text %q of %q", name, e.Text, heard)
			}
		}
		must(t, cmd.Process.Signal(syscall.SIGINT))
		for lines.Scan() {
			_ = lines.Text() // what else it says is of no interest
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: got %v, want a good end", name, err)
		}
	}
	if code, _, stderr := finished(t, append(worker[:1:1], "BOTMESH_ADMIN_TOKEN=another-token-of-16"), "chats", "tail"); code != 2 || !strings.Contains(stderr, "BOTMESH_ADMIN_TOKEN") {
		t.Errorf("with another token: got exit code %d and %s, want 2", code, stderr)
	}
	dev.stop(t)
}

// A worker that is away for a while is asked again for the same.
func TestATailGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	stdout, err := os.CreateTemp(t.TempDir(), "")
	must(t, err)
	defer stdout.Close()
	var (
		asked  []string
		cancel context.CancelFunc
	)
	answers := []string{`{"events":[{"kind":"record"}],"after":"1"}`, "", "", `{"events":[{"kind":"letter"}],"after":"2","more":true}`, `{"after":"3"}`}
	d := &desk{do: func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.Query().Get("after"))
		answer := answers[len(asked)-1]
		if len(asked) == len(answers) {
			cancel()
		}
		if answer == "" {
			return nil, errors.New("connection refused")
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(answer))}, nil
	}}
	synctest.Test(t, func(t *testing.T) {
		var ctx context.Context
		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		c := chatsTail{output: output{Output: "json"}}
		must(t, c.follow(ctx, &app{stdout: stdout, stderr: stdout}, d, url.Values{}))
	})
	if want := []string{"", "1", "1", "1", "2"}; !slices.Equal(asked, want) {
		t.Errorf("got asked after %q, want %q", asked, want)
	}
	shown, err := os.ReadFile(stdout.Name())
	must(t, err)
	if got := strings.Count(string(shown), "connection refused"); got != 1 {
		t.Errorf("got %d lines of the trouble, want 1:\n%s", got, shown)
	}
}
