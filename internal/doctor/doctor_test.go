package doctor_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh/coord/rediscoord"
	"github.com/botmesh-go/botmesh/internal/doctor"
	"github.com/botmesh-go/botmesh/internal/natstest"
	"github.com/botmesh-go/botmesh/internal/redistest"
	"github.com/botmesh-go/botmesh/streams"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lease = 15 * time.Second

// patient is a bot's servers in good health, with a replica that is alive and leads
// the session "provider:telegram", and asks for records.
type patient struct {
	doctor.Config
	t     *testing.T
	redis *redistest.Server
}

func healthy(t *testing.T, args ...string) *patient {
	t.Helper()
	p := &patient{t: t, redis: redistest.Start(t, args...)}
	nc, err := nats.Connect(natstest.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	p.JetStream, err = jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	p.Lists = true
	p.Inbox, p.Prefix, p.Lease, p.Sessions = "BOT_demo_INBOX", "botmesh:demo", lease, []string{"provider:telegram"}
	p.Streams = []jetstream.StreamConfig{
		{Name: p.Inbox, Subjects: []string{"bot.in.demo.>"}, Duplicates: 2 * time.Minute},
		{Name: "BOT_demo_OUTBOX", Subjects: []string{"bot.out.demo.>"}, Duplicates: 2 * time.Minute},
	}
	if _, err := streams.Apply(t.Context(), p.JetStream, p.Streams); err != nil {
		t.Fatal(err)
	}
	// After as many dials in vain as the pool is large a goroutine tries for it, which
	// outlives Close for a second.
	client := redis.NewClient(&redis.Options{Addr: p.redis.Addr(), PoolSize: 1000})
	t.Cleanup(func() { client.Close() })
	c, err := rediscoord.New(rediscoord.Config{Client: client, Prefix: p.Prefix, Replica: "worker1", Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.WithoutCancel(t.Context())) })
	if _, err := c.TryLead(t.Context(), "provider:telegram"); err != nil {
		t.Fatal(err)
	}
	p.Redis, p.Leaders, p.RedisName = client, c, "Redis at its place (BOTMESH_REDIS_URL)"
	p.pull(lease)
	return p
}

// pull asks for records as a worker does, until the test ends.
func (p *patient) pull(ackWait time.Duration) {
	p.t.Helper()
	nudges, err := p.JetStream.CreateOrUpdateConsumer(p.t.Context(), p.Inbox, jetstream.ConsumerConfig{
		Durable: "nudges-e1", AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	asking, err := nudges.Messages()
	if err != nil {
		p.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := asking.Next(); err != nil {
				return
			}
		}
	}()
	p.t.Cleanup(func() { asking.Stop(); <-done })
}

func TestAHealthyBot(t *testing.T) {
	t.Parallel()
	p := healthy(t)
	found := doctor.Examine(t.Context(), p.Config)
	if got := doctor.Worst(found); got != doctor.Fine {
		t.Errorf("got %q, want all fine: %v", got, found)
	}
	for _, check := range []string{"streams", "copies", "records", "memory", "persistence", "replicas", "sessions", "clocks"} {
		finding(t, found, check, doctor.Fine, "")
	}
	finding(t, found, "replicas", doctor.Fine, "1 is alive, of those that coordinate: worker1")
}

// finding fails unless there is one of that level whose text or advice has these words.
func finding(t *testing.T, found []doctor.Finding, check string, level doctor.Level, words string) {
	t.Helper()
	for _, f := range found {
		if f.Check == check && f.Level == level && strings.Contains(f.Text+" "+f.Do, words) {
			return
		}
	}
	t.Errorf("got %v, want %s: %s with %q", found, check, level, words)
}

func TestWhatIsFound(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		spoil func(*patient)
		check string
		level doctor.Level
		words string
	}{
		{"a stream is absent", func(p *patient) { p.delete("BOT_demo_OUTBOX") }, "streams", doctor.Broken, "BOT_demo_OUTBOX is absent"},
		{"a stream differs", func(p *patient) { p.Streams[0].Duplicates = time.Hour }, "streams", doctor.Warning, "BOT_demo_INBOX: duplicate_window is 2m0s, and 1h0m0s by the settings"},
		{"another lease", func(p *patient) { p.Lease = time.Minute }, "records", doctor.Warning, "lease is 15s and here it is 1m0s"},
		{"no worker ever", func(p *patient) { p.anew() }, "records", doctor.Warning, "no worker ever asked"},
		{"no worker ever, and records", func(p *patient) { p.anew(); p.publish() }, "records", doctor.Broken, "the journal has 1"},
		{"a worker before", func(p *patient) { p.anew(); p.consumer() }, "records", doctor.Warning, "nobody asks for records now"},
		{"a worker before, and records", func(p *patient) { p.anew(); p.consumer(); p.publish() }, "records", doctor.Broken, "and 1 wait"},
		{"redis may evict", func(p *patient) { p.set("maxmemory", "100mb"); p.set("maxmemory-policy", "allkeys-lru") }, "memory", doctor.Warning, "set maxmemory-policy noeviction"},
		{"redis can not write", func(p *patient) { p.unwritable() }, "persistence", doctor.Warning, "could not write its last snapshot"},
		{"redis is full", func(p *patient) { p.set("maxmemory", "1kb") }, "memory", doctor.Warning, "% full"},
		{"redis is away", func(p *patient) { p.redis.Kill() }, "redis", doctor.Unknown, "Redis at its place (BOTMESH_REDIS_URL) does not answer: dial tcp"},
		{"nobody is alive", func(p *patient) { p.Prefix = "other" }, "replicas", doctor.Broken, "BOTMESH_PREFIX"},
		{"nobody leads", func(p *patient) { p.Sessions = []string{"provider:other"} }, "sessions", doctor.Broken, "nobody holds the session of provider:other"},
		{"the bot has no streams", func(p *patient) { p.Streams[0].Name, p.Inbox = "BOT_other_INBOX", "BOT_other_INBOX" }, "streams", doctor.Broken, "BOT_other_INBOX is absent"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := healthy(t)
			test.spoil(p)
			finding(t, doctor.Examine(t.Context(), p.Config), test.check, test.level, test.words)
		})
	}
}

func (p *patient) delete(stream string) {
	if err := p.JetStream.DeleteStream(p.t.Context(), stream); err != nil {
		p.t.Fatal(err)
	}
}

// anew makes the inbox again, without a consumer.
func (p *patient) anew() {
	p.delete(p.Inbox)
	if _, err := streams.Apply(p.t.Context(), p.JetStream, p.Streams); err != nil {
		p.t.Fatal(err)
	}
}

func (p *patient) consumer() {
	_, err := p.JetStream.CreateOrUpdateConsumer(p.t.Context(), p.Inbox, jetstream.ConsumerConfig{
		Durable: "nudges-e2", AckPolicy: jetstream.AckExplicitPolicy, AckWait: lease,
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *patient) publish() {
	if _, err := p.JetStream.Publish(p.t.Context(), "bot.in.demo.telegram.1", nil); err != nil {
		p.t.Fatal(err)
	}
}

func (p *patient) set(name, value string) {
	if err := p.Redis.(*redis.Client).ConfigSet(p.t.Context(), name, value).Err(); err != nil {
		p.t.Fatal(err)
	}
}

// unwritable has Redis fail to write a snapshot: a directory is where its file is to be.
func (p *patient) unwritable() {
	client, ctx := p.Redis.(*redis.Client), p.t.Context()
	at, err := client.ConfigGet(ctx, "dir").Result()
	if err == nil {
		err = os.MkdirAll(filepath.Join(at["dir"], "dump.rdb", "taken"), 0o700)
	}
	if err == nil {
		err = client.BgSave(ctx).Err()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	natstest.Until(p.t, "a snapshot failed", func() bool {
		return strings.Contains(client.Info(ctx, "persistence").Val(), "rdb_last_bgsave_status:err")
	})
}

// On a cluster each part is looked at.
func TestAClusterOfBoth(t *testing.T) {
	t.Parallel()
	group := natstest.Cluster(t, 3)
	nc, err := nats.Connect(group.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	cluster := redistest.StartCluster(t)
	var addrs []string
	for _, s := range cluster.Servers {
		addrs = append(addrs, s.Addr())
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	t.Cleanup(func() { client.Close() })
	cfg := doctor.Config{
		JetStream: js, Inbox: "BOT_demo_INBOX", Redis: client, Prefix: "botmesh:demo", Lease: lease,
		Streams: []jetstream.StreamConfig{{Name: "BOT_demo_INBOX", Subjects: []string{"bot.in.demo.>"}, Replicas: 1}},
	}
	if _, err := streams.Apply(t.Context(), js, cfg.Streams); err != nil {
		t.Fatal(err)
	}
	found := doctor.Examine(t.Context(), cfg)
	finding(t, found, "copies", doctor.Warning, "BOT_demo_INBOX has one copy in a cluster")
	masters := 0
	for _, f := range found {
		if f.Check == "memory" && f.Level == doctor.Fine {
			masters++
		}
	}
	if masters < 3 {
		t.Errorf("got %v, want a finding for the memory of each of 3 masters", found)
	}
	cfg.Streams[0].Replicas = 3
	if _, err := streams.Apply(t.Context(), js, cfg.Streams); err != nil {
		t.Fatal(err)
	}
	natstest.Until(t, "three copies", func() bool {
		for _, f := range doctor.Examine(t.Context(), cfg) {
			if f.Check == "copies" {
				return f.Level == doctor.Fine
			}
		}
		return false
	})
}
