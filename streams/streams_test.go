package streams_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/streams"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func connect(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// wanted uses about every setting that Botmesh does.
func wanted() []jetstream.StreamConfig {
	return []jetstream.StreamConfig{
		{
			Name: "IN", Description: "records", Subjects: []string{"b.in.>", "a.in.>"}, MaxAge: time.Hour, Duplicates: time.Minute,
			AllowDirect: true, AllowMsgTTL: true, AllowMsgSchedules: true, Metadata: map[string]string{streams.EpochKey: "", "team": "bots"},
		},
		{Name: "OUT", Subjects: []string{"b.out.>"}, Discard: jetstream.DiscardNew, MaxAge: time.Minute},
		{
			Name: "KV_CP", Subjects: []string{"$KV.CP.>"}, MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DenyDelete: true,
			AllowRollup: true, AllowMsgTTL: true,
		},
	}
}

func epochOf(t *testing.T, js jetstream.JetStream, name string) string {
	t.Helper()
	s, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().Config.Metadata[streams.EpochKey]
}

func TestEnsureMakesWhatIsAbsentOnce(t *testing.T) {
	t.Parallel()
	js := connect(t, natstest.Start(t))
	var absent *streams.DifferError
	err := streams.Ensure(t.Context(), js, streams.Verify, wanted())
	if !errors.As(err, &absent) || len(absent.Diff) != 3 || !absent.Diff[0].Absent || !strings.Contains(err.Error(), "IN is absent") {
		t.Fatalf("verify: got %v, want three absent streams", err)
	}
	if err := streams.Ensure(t.Context(), js, streams.Trust, wanted()); err != nil {
		t.Errorf("trust: got %v, want nothing looked at", err)
	}
	if err := streams.Ensure(t.Context(), js, streams.Create, wanted()); err != nil {
		t.Fatal(err)
	}
	epoch := epochOf(t, js, "IN")
	if len(epoch) != 12 {
		t.Errorf("epoch: got %q, want 12 digits", epoch)
	}
	for _, mode := range []streams.Mode{streams.Create, streams.Verify} {
		if err := streams.Ensure(t.Context(), js, mode, wanted()); err != nil {
			t.Errorf("%s again: got %v", mode, err)
		}
	}
	if got := epochOf(t, js, "IN"); got != epoch {
		t.Errorf("epoch: got %q, want it kept as %q", got, epoch)
	}
	if diff, err := streams.Plan(t.Context(), js, wanted()); err != nil || len(diff) != 0 {
		t.Errorf("plan: got %v and %v, want nothing", diff, err)
	}
	// HOLE H6: made again, it is another one.
	if err := js.DeleteStream(t.Context(), "IN"); err != nil {
		t.Fatal(err)
	}
	if err := streams.Ensure(t.Context(), js, streams.Create, wanted()); err != nil {
		t.Fatal(err)
	}
	if got := epochOf(t, js, "IN"); got == epoch || got == "" {
		t.Errorf("epoch of the new stream: got %q, want another than %q", got, epoch)
	}
}

func TestEnsureRefusesWhatDiffersAndAltersNothing(t *testing.T) {
	t.Parallel()
	js := connect(t, natstest.Start(t))
	if err := streams.Ensure(t.Context(), js, streams.Create, wanted()); err != nil {
		t.Fatal(err)
	}
	want := wanted()
	want[0].MaxAge = 2 * time.Hour
	want[0].AllowDirect = false
	want[0].Subjects = want[0].Subjects[:1]
	want[0].Metadata["team"] = "others"
	err := streams.Ensure(t.Context(), js, streams.Create, want)
	var differ *streams.DifferError
	if !errors.As(err, &differ) {
		t.Fatalf("got %v, want a DifferError", err)
	}
	shown := `IN differs
  allow_direct is true, want false
  max_age is 1h0m0s, want 2h0m0s
  subjects is ["a.in.>","b.in.>"], want ["b.in.>"]
  metadata.team is bots, want others
`
	if diff := cmp.Diff(shown, differ.Diff.String()); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	if diff, err := streams.Plan(t.Context(), js, wanted()); err != nil || len(diff) != 0 {
		t.Errorf("after the refusal: got %v and %v, want the stream unchanged", diff, err)
	}
}

func TestWhatIsTheOperatorsIsNoDifference(t *testing.T) {
	t.Parallel()
	js := connect(t, natstest.Start(t))
	theirs := wanted()[:1]
	theirs[0].Description = "ours, hands off"
	theirs[0].Compression = jetstream.S2Compression
	theirs[0].Metadata = map[string]string{streams.EpochKey: "abc", "team": "bots", "cost-centre": "7"}
	if _, err := js.CreateStream(t.Context(), theirs[0]); err != nil {
		t.Fatal(err)
	}
	if err := streams.Ensure(t.Context(), js, streams.Verify, wanted()[:1]); err != nil {
		t.Errorf("got %v, want no difference", err)
	}
	want := wanted()[:1]
	want[0].MaxAge = 30 * time.Minute
	if _, err := streams.Apply(t.Context(), js, want); err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), "IN")
	if err != nil {
		t.Fatal(err)
	}
	got := s.CachedInfo().Config
	if got.MaxAge != 30*time.Minute || got.Compression != jetstream.S2Compression || got.Metadata["cost-centre"] != "7" || got.Metadata[streams.EpochKey] != "abc" {
		t.Errorf("got %+v, want the age changed and the rest kept", got)
	}
}

func TestAStreamMadeWithoutEpochIsShownAndRepaired(t *testing.T) {
	t.Parallel()
	js := connect(t, natstest.Start(t))
	bare := wanted()[0]
	bare.Metadata = nil
	if _, err := js.CreateStream(t.Context(), bare); err != nil {
		t.Fatal(err)
	}
	err := streams.Ensure(t.Context(), js, streams.Create, wanted())
	if err == nil || !strings.Contains(err.Error(), "metadata.botmesh.epoch is absent, want a random one") {
		t.Errorf("got %v, want the absent epoch", err)
	}
	diff, err := streams.Apply(t.Context(), js, wanted())
	if err != nil || len(diff) != 1 {
		t.Fatalf("got %v and %v, want one change", diff, err)
	}
	if epochOf(t, js, "IN") == "" {
		t.Error("got no epoch, want one")
	}
}

// HOLE H22
func TestApplyAsksItsGuards(t *testing.T) {
	t.Parallel()
	js := connect(t, natstest.Start(t))
	const life = 4 * time.Hour
	for _, c := range []struct {
		age  time.Duration
		fine bool
	}{{time.Hour, true}, {2 * time.Hour, true}, {2*time.Hour + 1e9, false}, {0, false}, {time.Hour, true}} {
		want := wanted()
		want[0].MaxAge = c.age
		_, err := streams.Apply(t.Context(), js, want, streams.KeepTombstones(life))
		if (err == nil) != c.fine {
			t.Errorf("max_age %v: got %v, want fine: %v", c.age, err, c.fine)
		}
	}
	// What is beyond it already may stay so and may be lowered.
	for _, ages := range [][2]time.Duration{{3 * time.Hour, 3 * time.Hour}, {3 * time.Hour, 150 * time.Minute}, {0, 3 * time.Hour}, {0, 0}} {
		err := streams.KeepTombstones(life)(jetstream.StreamConfig{MaxAge: ages[0]}, jetstream.StreamConfig{MaxAge: ages[1]})
		if err != nil {
			t.Errorf("from %v to %v: got %v, want it let through", ages[0], ages[1], err)
		}
	}
	want := wanted()
	want[0].MaxAge = time.Hour
	if diff, err := streams.Plan(t.Context(), js, want); err != nil || len(diff) != 0 {
		t.Errorf("got %v and %v, want the last that was let through", diff, err)
	}
}

func TestWhatTheServerNeverChangesIsReported(t *testing.T) {
	t.Parallel()
	js := connect(t, natstest.Start(t))
	if err := streams.Ensure(t.Context(), js, streams.Create, wanted()); err != nil {
		t.Fatal(err)
	}
	want := wanted()
	want[1].Storage = jetstream.MemoryStorage
	_, err := streams.Apply(t.Context(), js, want)
	if err == nil || errors.Is(err, botmesh.ErrRefused) || errors.Is(err, botmesh.ErrUnknown) {
		t.Errorf("got %v, want an error that stays", err)
	}
}

// DESIGN §3: two creators race, the second reads back.
func TestTenCreatorsMakeOneStream(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t)
	makeByTen(t, func(int) string { return url }, wanted())
}

func makeByTen(t *testing.T, url func(i int) string, want []jetstream.StreamConfig) {
	t.Helper()
	const creators = 10
	clients := make([]jetstream.JetStream, creators)
	for i := range clients {
		clients[i] = connect(t, url(i))
	}
	epochs := make([]string, creators)
	var all sync.WaitGroup
	for i, js := range clients {
		all.Go(func() {
			if err := ensureLoop(t, js, want); err != nil {
				t.Error(err)
				return
			}
			s, err := js.Stream(t.Context(), want[0].Name)
			if err != nil {
				t.Error(err)
				return
			}
			epochs[i] = s.CachedInfo().Config.Metadata[streams.EpochKey]
		})
	}
	all.Wait()
	for i, epoch := range epochs {
		if epoch != epochs[0] || epoch == "" {
			t.Errorf("creator %d saw epoch %q, the first one %q, want one for all", i, epoch, epochs[0])
		}
	}
}

// ensureLoop does as a program does: what may be called again is.
func ensureLoop(t *testing.T, js jetstream.JetStream, want []jetstream.StreamConfig) error {
	for {
		err := streams.Ensure(t.Context(), js, streams.Create, want)
		if !errors.Is(err, botmesh.ErrRefused) && !errors.Is(err, botmesh.ErrUnknown) || t.Context().Err() != nil {
			return err
		}
	}
}

func TestNobodyThereIsARefusal(t *testing.T) {
	t.Parallel()
	nc, err := nats.Connect("nats://127.0.0.1:1", nats.RetryOnFailedConnect(true), nats.ReconnectBufSize(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if err := streams.Ensure(t.Context(), js, streams.Create, wanted()); !errors.Is(err, botmesh.ErrRefused) {
		t.Errorf("ensure: got %v, want ErrRefused", err)
	}
	if _, err := streams.Plan(t.Context(), js, wanted()); !errors.Is(err, botmesh.ErrRefused) {
		t.Errorf("plan: got %v, want ErrRefused", err)
	}
	if err := streams.Ensure(t.Context(), js, "maybe", nil); err == nil {
		t.Error("mode maybe: got no error")
	}
}

// DESIGN §3: replicas 3 by default on a cluster; a race of creators is settled there too.
func TestTenCreatorsMakeOneStreamOnACluster(t *testing.T) {
	t.Parallel()
	cluster := natstest.Cluster(t, 3)
	makeByTen(t, func(i int) string { return cluster.Nodes[i%3].URL }, wanted()[:1])
	js := connect(t, cluster.URL())
	s, err := js.Stream(t.Context(), "IN")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.CachedInfo().Config.Replicas; got != 3 {
		t.Errorf("replicas: got %d, want 3", got)
	}
	// A stream of a single server that is now a cluster's stops nobody, and is shown.
	one := wanted()[1]
	one.Replicas = 1
	if err := ensureLoop(t, js, []jetstream.StreamConfig{one}); err != nil {
		t.Fatal(err)
	}
	if err := streams.Ensure(t.Context(), js, streams.Verify, wanted()[1:2]); err != nil {
		t.Errorf("one replica: got %v, want no refusal", err)
	}
	diff, err := streams.Plan(t.Context(), js, wanted()[1:2])
	if want := "OUT differs\n  num_replicas is 1, want 3\n"; err != nil || diff.String() != want {
		t.Errorf("plan: got %v and %v, want %q", diff, err, want)
	}
	if _, err := streams.Apply(t.Context(), js, wanted()[1:2]); err != nil {
		t.Error(err)
	}
}
