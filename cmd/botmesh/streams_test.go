package main

import (
	"encoding/json"
	"os/user"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/redistest"
	"github.com/botmesh-go/botmesh/streams"
)

// What a change of the streams is to be is shown without making it, what it was is in
// the log of acts with who did it; where nothing differs there is nothing to log.
func TestAChangeOfTheStreamsIsShownAndLogged(t *testing.T) {
	t.Parallel()
	env := []string{"BOTMESH_NATS_URL=" + natstest.Start(t), "BOTMESH_REDIS_URL=" + redistest.Start(t).URL()}
	apply := func(wantCode int, args ...string) (stdout, stderr string) {
		t.Helper()
		code, stdout, stderr := finished(t, env, append([]string{"streams", "apply"}, args...)...)
		if code != wantCode {
			t.Errorf("%v: got exit code %d, %s%s, want %d", args, code, stdout, stderr, wantCode)
		}
		return stdout, stderr
	}
	if out, _ := apply(0, "--dry-run"); !strings.Contains(out, "BOT_demo_ACTS would be made\n") || !strings.HasSuffix(out, "nothing was made or changed\n") {
		t.Errorf("got %s, want what would be made", out)
	}
	if code, _, _ := finished(t, env, "streams", "plan"); code != 3 {
		t.Errorf("after a dry run: got exit code %d of plan, want 3, as nothing was made", code)
	}
	if out, _ := apply(0); !strings.Contains(out, "BOT_demo_ACTS was made\n") {
		t.Errorf("got %s, want what was made", out)
	}
	apply(0) // nothing to do, nothing to log

	const week = "--retention=168h"
	if out, _ := apply(0, week, "--dry-run"); !strings.Contains(out, "BOT_demo_INBOX would be changed\n  max_age is 192h0m0s, would be 168h0m0s\n") {
		t.Errorf("got %s, want what would be changed", out)
	}
	out, _ := apply(0, week, "--as=ana", "--output=json")
	var diff streams.Diff
	if err := json.Unmarshal([]byte(out), &diff); err != nil || len(diff) != 2 || diff[0].Stream != "BOT_demo_INBOX" || len(diff[0].Fields) != 1 {
		t.Errorf("got %s (%v), want the inbox and the outbox with one setting each as JSON", out, err)
	}
	// One that is refused is not begun: nothing to log. A dry run says so too.
	for _, more := range [][]string{nil, {"--dry-run"}} {
		if _, said := apply(1, append(more, "--retention=2000h")...); !strings.Contains(said, "tombstones") {
			t.Errorf("got %s, want it refused because of the tombstones", said)
		}
	}
	// What no server can do is logged with its end.
	if _, said := apply(1, week, "--replicas=3", "--as=ben"); !strings.Contains(said, "change BOT_demo_INBOX") {
		t.Errorf("got %s, want the change that failed", said)
	}

	type entry struct{ by, of, before, after string }
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	all := asked[[]acts.Act](t, env, "acts", "ls")
	want := []entry{
		{me.Username + "@", "BOT_demo_ACTS", `"BOT_demo_ACTS":null`, `"BOT_demo_ACTS":{}`},
		{"ana", "BOT_demo_INBOX", `{"BOT_demo_INBOX":{"max_age":"192h0m0s"},`, `{"BOT_demo_INBOX":{"max_age":"168h0m0s"},`},
		{"ben", "BOT_demo_OUTBOX", `"num_replicas":"1"`, `"num_replicas":"3"`},
		{"ben", "BOT_demo_OUTBOX", `"num_replicas":"1"`, `"num_replicas":"3"`},
	}
	if len(all) != len(want) {
		t.Fatalf("got %d acts, want %d", len(all), len(want))
	}
	for i, w := range want {
		act := all[i]
		if act.Verb != "streams apply" || act.Chat != nil || !strings.HasPrefix(act.By, w.by) || !strings.Contains(act.Of, w.of) ||
			!strings.Contains(compact(t, act.Before), w.before) || !strings.Contains(compact(t, act.After), w.after) {
			t.Errorf("got %s by %s of %s, %s to %s, want %+v", act.Verb, act.By, act.Of, act.Before, act.After, w)
		}
		if failed := i == 3; failed != (act.Failed != "") {
			t.Errorf("act %d: got failed %q", i, act.Failed)
		}
	}
	if all[2].ID != all[3].ID {
		t.Errorf("got %s and its end %s, want one id", all[2].ID, all[3].ID)
	}
}

func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
