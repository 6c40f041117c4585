package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh/provider"
)

func TestCopies(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		cluster jetstream.ClusterInfo
		level   Level
		words   string
	}{
		{"no leader", jetstream.ClusterInfo{Replicas: []*jetstream.PeerInfo{{Name: "n2", Current: true}}}, Broken, "has no leader"},
		{"offline", jetstream.ClusterInfo{Leader: "n1", Replicas: []*jetstream.PeerInfo{{Name: "n2", Offline: true}}}, Warning, "its copy on n2 is offline"},
		{"behind", jetstream.ClusterInfo{Leader: "n1", Replicas: []*jetstream.PeerInfo{{Name: "n2", Lag: 1001}}}, Warning, "on n2 lacks 1001"},
		{"on its way", jetstream.ClusterInfo{Leader: "n1", Replicas: []*jetstream.PeerInfo{{Name: "n2", Lag: 1000}}}, "", ""},
		{"in order", jetstream.ClusterInfo{Leader: "n1", Replicas: []*jetstream.PeerInfo{{Name: "n2", Current: true}}}, "", ""},
	} {
		info := &jetstream.StreamInfo{Config: jetstream.StreamConfig{Name: "S", Replicas: 3}, Cluster: &test.cluster}
		found := peers(info)
		if test.level == "" {
			if len(found) != 0 {
				t.Errorf("%s: got %v, want nothing", test.name, found)
			}
			continue
		}
		if len(found) != 1 || found[0].Level != test.level || !strings.Contains(found[0].Text, test.words) || found[0].Do == "" {
			t.Errorf("%s: got %v, want %s with %q and what to do", test.name, found, test.level, test.words)
		}
	}
}

// asked is a platform that has one answer.
type asked struct {
	in  provider.Intake
	err error
}

func (a asked) Check(context.Context) (provider.Intake, error) { return a.in, a.err }

func TestIntakes(t *testing.T) {
	t.Parallel()
	at := time.Unix(1700000000, 0)
	for _, test := range []struct {
		name  string
		polls bool
		says  asked
		level Level
		words string
	}{
		{"posts", false, asked{in: provider.Intake{Webhook: true}}, Fine, "delivers"},
		{"posts what waits", false, asked{in: provider.Intake{Webhook: true, Waiting: 3}}, Fine, "3 wait"},
		{"posted in vain, and then not", false, asked{in: provider.Intake{Webhook: true, Failed: "503", FailedAt: at}}, Fine, "delivers"},
		{"posts in vain", false, asked{in: provider.Intake{Webhook: true, Waiting: 3, Failed: "503", FailedAt: at}}, Broken, `at 2023-11-14T22:13:20Z: "503"; 3 wait`},
		{"is not told where to", false, asked{in: provider.Intake{Waiting: 2}}, Broken, "no webhook set: nothing comes; 2 wait"},
		{"is asked", true, asked{in: provider.Intake{Waiting: 2}}, Fine, "2 wait"},
		{"is asked, and posts", true, asked{in: provider.Intake{Webhook: true}}, Broken, "can not be asked"},
		{"does not answer", true, asked{err: errors.New("401")}, Unknown, "telegram can not be asked: 401"},
	} {
		found := intakes(t.Context(), Config{Intakes: []Intake{{ID: "telegram", Polls: test.polls, Checker: test.says}}})
		if len(found) != 1 || found[0].Level != test.level || !strings.Contains(found[0].Text, test.words) || (found[0].Do == "") == (test.level == Broken) {
			t.Errorf("%s: got %v, want %s with %q, and what to do if it is broken", test.name, found, test.level, test.words)
		}
	}
}

func TestClocks(t *testing.T) {
	t.Parallel()
	for off, want := range map[time.Duration]Level{0: Fine, time.Second: Fine, -time.Second: Fine, 5 * time.Second: Warning, -time.Hour: Warning} {
		got, _ := clock("redis", func() (time.Time, error) { return time.Now().Add(off), nil })
		if got.Level != want {
			t.Errorf("%v off: got %v, want %s", off, got, want)
		}
	}
	if got, _ := clock("redis", func() (time.Time, error) { return time.Time{}, errors.New("away") }); got.Level != Unknown {
		t.Errorf("no answer: got %v, want unknown", got)
	}
}

func TestTheWorst(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		levels []Level
		want   Level
	}{
		{nil, Fine}, {[]Level{Fine, Fine}, Fine}, {[]Level{Fine, Warning}, Warning},
		{[]Level{Broken, Warning}, Broken}, {[]Level{Broken, Unknown, Fine}, Unknown},
	} {
		var found []Finding
		for _, l := range test.levels {
			found = append(found, Finding{Level: l})
		}
		if got := Worst(found); got != test.want {
			t.Errorf("%v: got %s, want %s", test.levels, got, test.want)
		}
	}
}

// Workers that have all they can do ask for no more, and are no reason to look for them.
func TestBusy(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ago := func(d time.Duration) *time.Time { at := now.Add(-d); return &at }
	for _, test := range []struct {
		name string
		info jetstream.ConsumerInfo
		want bool
	}{
		{"nothing ever", jetstream.ConsumerInfo{TimeStamp: now}, false},
		{"handed out just now", jetstream.ConsumerInfo{TimeStamp: now, Delivered: jetstream.SequenceInfo{Last: ago(time.Second)}}, true},
		{"settled just now", jetstream.ConsumerInfo{TimeStamp: now, Delivered: jetstream.SequenceInfo{Last: ago(time.Hour)}, AckFloor: jetstream.SequenceInfo{Last: ago(time.Second)}}, true},
		{"long ago", jetstream.ConsumerInfo{TimeStamp: now, Delivered: jetstream.SequenceInfo{Last: ago(time.Hour)}}, false},
	} {
		if got := busy(&test.info, 15*time.Second); got != test.want {
			t.Errorf("%s: got %t, want %t", test.name, got, test.want)
		}
	}
}
