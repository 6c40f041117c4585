package admin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/acts"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/coord"
	"github.com/botmesh-go/botmesh/journal"
)

const (
	defaultChats = 100
	maxChats     = 1000
	// looksAtOnce is how many chats are looked at at once for one request.
	looksAtOnce = 8
	// maxWaiting bounds the waiting records that are counted of one chat.
	maxWaiting = 1000
	// maxBehind bounds the records that are read for the chats that they are of, and
	// maxKept the checkpoints.
	maxBehind = 5000
	maxKept   = 5000
)

// State is in one word how a chat is.
type State string

// The states, the first that fits.
const (
	StatePaused     State = "paused"     // an operator paused it
	StateUnreadable State = "unreadable" // only another build can serve it
	StateRetrying   State = "retrying"   // its next record failed and is to be tried again
	StateHeld       State = "held"       // a replica has its turn
	StateWaiting    State = "waiting"    // records wait, and nobody has its turn
	StateUnsent     State = "unsent"     // letters wait to be delivered
	StateIdle       State = "idle"       // nothing waits
)

// Chat is what is known of a chat at one moment.
type Chat struct {
	Chat  string `json:"chat"`
	State State  `json:"state"`
	// Why is what an operator would say of it, in sentences.
	Why        []string    `json:"why"`
	Turn       *Turn       `json:"turn,omitempty"`
	Pause      *acts.Pause `json:"pause,omitempty"`
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	// Question is where its conversation waits for an answer of the user.
	Question *Place `json:"question,omitempty"`
	// Human says that people have what its user writes, and not the bot.
	Human   bool    `json:"human,omitempty"`
	Records Records `json:"records"`
	Outbox  Outbox  `json:"outbox"`
	// Held are the parts that wait for an operator, since they may have reached the
	// platform.
	Held []Held `json:"held,omitempty"`
	// Dead counts its dead letters.
	Dead int `json:"dead"`

	known bool // something is kept of it
}

// Turn is who holds a chat and who waits for it, as the coordinator knows.
type Turn struct {
	Holder string        `json:"holder,omitempty"` // the incarnation
	Since  time.Time     `json:"since,omitzero"`
	Left   time.Duration `json:"left_ns,omitempty"` // of the lease, if it is not renewed
	Fence  uint64        `json:"fence"`
	Before string        `json:"before,omitempty"` // who held it before
	Deaths int           `json:"deaths,omitempty"` // holders in a row whose lease ran out
	Line   []string      `json:"line,omitempty"`   // the incarnations that wait, the next one first
}

// Checkpoint is what is stored of a chat, without its state.
type Checkpoint struct {
	Revision uint64    `json:"revision"`
	Written  time.Time `json:"written"`
	Epoch    string    `json:"epoch,omitempty"`
	Cursor   uint64    `json:"cursor"`
	CursorAt time.Time `json:"cursor_at,omitzero"`
	State    int       `json:"state_bytes"`
	By       string    `json:"by,omitempty"` // the incarnation that committed the state
	Deploy   int       `json:"deploy,omitempty"`
	// During is the record that is being run, with Eager sends of its own already out.
	During uint64 `json:"during,omitempty"`
	Eager  int    `json:"eager,omitempty"`
	// Tries, Deaths, NotBefore and Error are of the record at Tried.
	Tried     uint64    `json:"tried,omitempty"`
	Tries     int       `json:"tries,omitempty"`
	Deaths    int       `json:"deaths,omitempty"`
	NotBefore time.Time `json:"not_before,omitzero"`
	Error     string    `json:"error,omitempty"`
	// Stranded is since when that record waits for a build that can go on from the state.
	Stranded time.Time `json:"stranded,omitzero"`
	// Effects says that the last commit has some, which may not be flushed yet.
	Effects bool    `json:"effects,omitempty"`
	Timers  []Timer `json:"timers,omitempty"`
}

// Timer is one that is armed.
type Timer struct {
	Name string    `json:"name"`
	At   time.Time `json:"at"`
}

// Records are those of a chat's journal that its checkpoint has not passed.
type Records struct {
	Waiting int       `json:"waiting"`
	More    bool      `json:"more,omitempty"` // there are more than were counted
	First   uint64    `json:"first,omitempty"`
	Oldest  time.Time `json:"oldest,omitzero"`
}

// Outbox is how far the delivery of a chat has come.
type Outbox struct {
	Last    uint64 `json:"last,omitempty"` // sequence of the last letter
	Settled uint64 `json:"settled,omitempty"`
	// Waiting counts the letters that are not settled, Oldest is the first one's time.
	Waiting int       `json:"waiting,omitempty"`
	Oldest  time.Time `json:"oldest,omitzero"`
	// Tries counts the calls of the next part that came to nothing; it is not called
	// before NotBefore. Doubt counts the parts that may have reached the platform.
	Tries     int       `json:"tries,omitempty"`
	NotBefore time.Time `json:"not_before,omitzero"`
	Doubt     int       `json:"doubt,omitempty"`
	Owner     string    `json:"owner,omitempty"` // who delivers, if somebody may be at it
}

func (a *API) showChat(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	chat, err := chatOf(r)
	if err != nil {
		return nil, err
	}
	c, err := rooms.look(ctx, chat)
	if err == nil && !c.known {
		err = absent("%s", unknown(chat))
	}
	return c, err
}

// listChats shows the chats that something is going on with: held, in line, paused, or
// with records that wait or letters that are not delivered. With all=1 every chat that has
// a checkpoint, and with a state those of it alone.
func (a *API) listChats(ctx context.Context, rooms *Rooms, r *http.Request) (any, error) {
	limit, err := number(r, "limit", defaultChats, maxChats)
	if err != nil {
		return nil, err
	}
	state, all := State(r.FormValue("state")), r.FormValue("all") != ""
	find := rooms.busy
	if all {
		find = rooms.kept
	}
	chats, err := find(ctx)
	if err != nil {
		return nil, err
	}
	return rooms.lookAtMany(ctx, chats, limit, func(c *Chat) bool {
		if state != "" {
			return c.State == state
		}
		return all || c.State != StateIdle
	})
}

// lookAtMany looks at chats, in their order, until it has so many that are wanted.
func (rooms *Rooms) lookAtMany(ctx context.Context, chats []botmesh.ChatKey, limit int, want func(*Chat) bool) ([]*Chat, error) {
	wanted := []*Chat{}
	for some := range slices.Chunk(chats, looksAtOnce) {
		found := make([]*Chat, len(some))
		err := eachOf(ctx, some, func(ctx context.Context, i int, chat botmesh.ChatKey) (err error) {
			found[i], err = rooms.look(ctx, chat)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			if want(c) {
				wanted = append(wanted, c)
			}
			if len(wanted) == limit {
				return wanted, nil
			}
		}
	}
	return wanted, nil
}

// eachOf calls do for each of some chats, for several at once.
func eachOf(ctx context.Context, chats []botmesh.ChatKey, do func(ctx context.Context, i int, chat botmesh.ChatKey) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(looksAtOnce)
	for i, chat := range chats {
		group.Go(func() error { return do(ctx, i, chat) })
	}
	return group.Wait()
}

// number reads a query value that is 1 to most.
func number(r *http.Request, name string, otherwise, most int) (int, error) {
	text := r.FormValue(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, wrong(fmt.Sprintf("%s is %q, want 1 to %d", name, text, most))
	}
	return n, nil
}

// busy finds the chats that something may be going on with: first those that are paused,
// then those whose turn is held or asked for, then those of the records that are not all
// acknowledged. A chat that stays paused keeps its records there, and those of others
// that were handled long ago lie behind them: of such no more than maxBehind are read.
func (rooms *Rooms) busy(ctx context.Context) ([]botmesh.ChatKey, error) {
	chats := newChats(math.MaxInt)
	for _, p := range rooms.Pauses.Paused() {
		chats.add(p.Chat)
	}
	if rooms.Turns != nil {
		for view, err := range rooms.Turns.List(ctx, coord.KindTurn) {
			if err != nil {
				break // each chat says that the coordinator is away
			}
			if chat, err := rooms.chatOf(ctx, view.Key); err == nil {
				chats.add(chat)
			}
		}
	}
	_, err := rooms.behind(ctx, 0, maxBehind, chats)
	return chats.found, err
}

// behind adds the chats of so many records from a sequence on, or from where not all are
// acknowledged if that is later, and returns where to go on, zero at the end.
func (rooms *Rooms) behind(ctx context.Context, from uint64, records int, chats *chats) (next uint64, err error) {
	from = max(from, 1)
	switch backlog, err := rooms.Journal.Backlog(ctx); {
	case err == nil:
		from = max(from, backlog.Floor+1)
	case !errors.Is(err, botmesh.ErrNotFound): // else no worker ever looked
		return 0, err
	}
	entries, err := rooms.Journal.List(ctx, journal.Filter{From: from, Limit: records})
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if e.Record.Chat.Validate() == nil {
			chats.add(e.Record.Chat)
		}
	}
	if len(entries) == records {
		next = entries[records-1].Record.Seq + 1
	}
	return next, nil
}

// kept finds chats that have a checkpoint.
func (rooms *Rooms) kept(ctx context.Context) ([]botmesh.ChatKey, error) {
	chats := newChats(maxKept)
	err := rooms.Store.Keys(ctx, func(key string) bool {
		if strings.HasPrefix(key, "_") { // no chat's
			return true
		}
		if chat, err := rooms.chatOf(ctx, key); err == nil {
			chats.add(chat)
		}
		return len(chats.found) < maxKept
	})
	return chats.found, err
}

// chats are chats, each once, up to a limit.
type chats struct {
	limit int
	found []botmesh.ChatKey
	seen  map[botmesh.ChatKey]bool
}

func newChats(limit int) *chats {
	return &chats{limit: limit, found: []botmesh.ChatKey{}, seen: map[botmesh.ChatKey]bool{}}
}

func (c *chats) add(chat botmesh.ChatKey) {
	if !c.seen[chat] && len(c.found) < c.limit {
		c.seen[chat] = true
		c.found = append(c.found, chat)
	}
}

// chatOf turns a key into its chat. Where the key is a hash, the checkpoint says.
func (rooms *Rooms) chatOf(ctx context.Context, key string) (botmesh.ChatKey, error) {
	chat, err := botmesh.ParseKey(key)
	if !errors.Is(err, botmesh.ErrHashedToken) {
		return chat, err
	}
	row, err := rooms.Store.Load(ctx, key)
	if err != nil {
		return chat, err
	}
	cp, err := checkpoint.Decode(row.Value)
	if err == nil {
		err = cp.Chat.Validate()
	}
	return cp.Chat, err
}
