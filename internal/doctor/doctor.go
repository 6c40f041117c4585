// Package doctor looks at the servers below a bot, and says what will hurt it.
//
// It asks, and changes nothing that anybody goes by. It looks at what the programs can not see of
// themselves, since each is but one of them: whether the streams are as all settings
// want them and have their copies, whether anybody asks for records, whether Redis may
// throw away what it holds, whether clocks agree.
//
// What belongs here: questions to NATS, Redis, ingresses and platforms, and what an answer means to an
// operator. What chats wait for, and which dead letters there are, admin's pages tell.
package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"github.com/botmesh-go/botmesh/coord"
)

// Level is how bad a finding is.
type Level string

// The levels, the harmless one first.
const (
	Fine    Level = "fine"
	Warning Level = "warning" // it works, and will hurt some day
	Broken  Level = "broken"  // messages wait for it
	Unknown Level = "unknown" // it could not be looked at
)

// Finding is what became of one look.
type Finding struct {
	Level Level `json:"level"`
	// Check is what was looked at, in one word.
	Check string `json:"check"`
	// Text is what is so.
	Text string `json:"text"`
	// Do is what to do about it, empty if nothing is to be done.
	Do string `json:"do,omitempty"`
}

// Config is where to look and what the settings want to find there.
type Config struct {
	JetStream jetstream.JetStream
	// Streams are the bot's streams as wanted, Inbox the name of its journal's.
	Streams []jetstream.StreamConfig
	Inbox   string
	// Lists says that the streams of all bots may be listed.
	Lists bool
	// Redis, if set, coordinates the replicas, by keys that begin with Prefix. Self is
	// who asks: an incarnation that counts for none.
	Redis redis.UniversalClient
	// RedisName is how an operator is told of Redis: where it is, and which setting
	// says so.
	RedisName string
	Prefix    string
	Self      string
	// Leaders, if set, knows who has the leaderships named in Sessions: the providers
	// that one elected ingress holds the session of.
	Leaders  coord.Viewer
	Sessions []string
	// Ingresses, if set, asks the bot's ingresses what they are.
	Ingresses func(context.Context) ([]Ingress, error)
	// Intakes are the platforms that can be asked how they deliver.
	Intakes []Intake
	// Lease is that of the settings, which the journal's consumer is to go by; zero if
	// there is nothing to compare.
	Lease time.Duration
}

// answerTime bounds one check.
const answerTime = 5 * time.Second

// Examine looks at everything. What can not be looked at is a finding of level
// [Unknown]; the rest is looked at all the same. ctx bounds the whole; one check
// takes at most five seconds.
func Examine(ctx context.Context, cfg Config) (all []Finding) {
	do := func(checks ...func(context.Context, Config) []Finding) {
		for _, check := range checks {
			ctx, cancel := context.WithTimeout(ctx, answerTime)
			all = append(all, check(ctx, cfg)...)
			cancel()
		}
	}
	do(streamsAsWanted, copies, consumer)
	if cfg.Lists {
		do(others)
	}
	if cfg.Redis != nil {
		silent := len(all)
		if do(answers); len(all) > silent {
			cfg.Redis, cfg.Leaders = nil, nil // said once, and not of each check
		} else {
			do(memory, persistence, replicas)
		}
	}
	if cfg.Leaders != nil {
		do(leaders)
	}
	if cfg.Ingresses != nil {
		do(ingresses)
	}
	if cfg.Intakes != nil {
		do(intakes)
	}
	do(clocks)
	return all
}

// Worst is the worst level of findings: what could not be looked at is worse than what
// was found.
func Worst(all []Finding) Level {
	worst := Fine
	for _, f := range all {
		if f.Level.rank() > worst.rank() {
			worst = f.Level
		}
	}
	return worst
}

func (l Level) rank() int {
	for i, known := range []Level{Fine, Warning, Broken} {
		if l == known {
			return i
		}
	}
	return 3
}

// about makes the findings of one check.
type about string

func (a about) fine(format string, args ...any) Finding {
	return Finding{Fine, string(a), fmt.Sprintf(format, args...), ""}
}

func (a about) warning(do, format string, args ...any) Finding {
	return Finding{Warning, string(a), fmt.Sprintf(format, args...), do}
}

func (a about) broken(do, format string, args ...any) Finding {
	return Finding{Broken, string(a), fmt.Sprintf(format, args...), do}
}

func (a about) unknown(err error) []Finding {
	return []Finding{{Unknown, string(a), "can not be looked at: " + err.Error(), ""}}
}
