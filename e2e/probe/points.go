package probe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Program is a program that crash points belong to.
type Program string

// The programs.
const (
	Worker  Program = "worker"
	Ingress Program = "ingress"
)

// CrashPoint is a place at which a process can be made to die or to stop: just before
// a call that leaves something behind, or just after its answer came.
type CrashPoint struct {
	Name    string
	Program Program
	// Needs says what it takes to come there beside messages that are answered;
	// empty if nothing.
	Needs Need
}

// Need is what a load must have for a crash point to be met.
type Need string

// The needs.
const (
	Nothing   Need = ""
	Eager     Need = "eager"     // a message answered before its run ends (/slow)
	Failure   Need = "failure"   // a run that fails (/fail)
	Poison    Need = "poison"    // a record that is set aside (/poison)
	TakeOver  Need = "take-over" // an earlier holder that died or lost its turn during a run
	Refusal   Need = "refusal"   // a call that the platform refuses for now (429)
	Duplicate Need = "duplicate" // an update posted again later than the journal remembers its id
	Hold      Need = "hold"      // BOTMESH_TELEGRAM_IN_DOUBT=hold
	Order     Need = "order"     // a send by a backend, through the worker
	Timer     Need = "timer"     // a timer that takes the place of another (/later, twice)
)

// operations are what has a point before and one after it.
var operations = []struct {
	name    string
	program Program
	needs   Need
}{
	{"publish", Ingress, Nothing}, // the record into the journal; after it no webhook is answered yet
	{"take", Worker, Nothing},     // the ticket; after it the turn is granted
	{"claim", Worker, Nothing},    // the claim of a receipt chain
	{"call", Worker, Nothing},     // the platform
	{"receipt", Worker, Nothing},  // the receipt of a part
	{"commit", Worker, Nothing},   // the checkpoint, with its cursor past a record
	{"letter", Worker, Nothing},   // the letter of a commit into the outbox
	{"ack", Worker, Nothing},      // the acknowledgement of a record
	{"release", Worker, Nothing},  // the turn given up; before it is after the last look at the journal
	{"midway", Worker, Eager},     // the checkpoint of a send before the run's end
	{"eager", Worker, Eager},      // its letter
	{"try", Worker, Failure},      // the checkpoint that notes a failed run
	{"mark", Worker, TakeOver},    // the checkpoint that notes an unclean take-over
	{"aside", Worker, Poison},     // the checkpoint that moves past a record set aside
	{"dead", Worker, Poison},      // its dead letter
	{"cursor", Worker, Duplicate}, // the checkpoint that moves past a record without effect
	{"putoff", Worker, Refusal},   // the entry that puts a part off
	{"attempt", Worker, Hold},     // the entry that announces a call
	{"order", Worker, Order},      // the record of a backend's send into the journal; after it the backend has no answer yet
	{"arm", Worker, Timer},        // the schedule of a timer
	{"disarm", Worker, Timer},     // it is taken back
}

// reads have a point after them only: dying before one leaves nothing else.
var reads = []struct {
	name    string
	program Program
}{
	{"nudge", Worker}, // a record's header was handed out
	{"load", Worker},  // the checkpoint was read
	{"read", Worker},  // the chat's records were read
}

// Points are all crash points.
func Points() []CrashPoint {
	var all []CrashPoint
	for _, o := range operations {
		all = append(all, CrashPoint{o.name + ".before", o.program, o.needs}, CrashPoint{o.name + ".after", o.program, o.needs})
	}
	for _, r := range reads {
		all = append(all, CrashPoint{r.name + ".after", r.program, Nothing})
	}
	return all
}

// Action is what happens at an armed crash point.
type Action string

// The actions.
const (
	Kill Action = "kill" // SIGKILL to itself
	Stop Action = "stop" // SIGSTOP to itself: another process lets it go on
)

// EnvCrash is the variable that arms a point: <point>[@hit]:kill|stop. The hit
// counts from one, the default.
const EnvCrash = "BOTMESH_LAB_CRASH"

// armed is a crash point that waits for its hit.
type armed struct {
	point  string
	hit    uint64
	action Action
}

// parseCrash reads the value of [EnvCrash]; nothing arms nothing.
func parseCrash(s string) (armed, error) {
	if s == "" {
		return armed{}, nil
	}
	where, action, _ := strings.Cut(s, ":")
	point, hit, counted := strings.Cut(where, "@")
	a := armed{point: point, hit: 1, action: Action(action)}
	if counted {
		n, err := strconv.ParseUint(hit, 10, 32)
		if err != nil || n == 0 {
			return armed{}, fmt.Errorf("probe: %s=%s: want a hit of 1 or more", EnvCrash, s)
		}
		a.hit = n
	}
	if a.action != Kill && a.action != Stop {
		return armed{}, fmt.Errorf("probe: %s=%s: want <point>[@hit]:kill or :stop", EnvCrash, s)
	}
	if !slices.ContainsFunc(Points(), func(p CrashPoint) bool { return p.Name == point }) {
		return armed{}, fmt.Errorf("probe: %s=%s: there is no such point", EnvCrash, s)
	}
	return a, nil
}
