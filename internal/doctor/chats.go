package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh/admin"
)

const (
	// named bounds the chats that are named, looked those that are looked at.
	named  = 20
	looked = 1000
)

// Chats says which chats wait for longer than waiting, as the API sees them, and what is
// left to an operator. An error means that the API did not answer.
func Chats(ctx context.Context, look admin.Look, waiting time.Duration) (found []Finding, err error) {
	var all []admin.Chat
	var dead []admin.Dead
	var unsent admin.OutboxPage // the first one has all that is held
	err = errors.Join(
		look(ctx, "/v1/chats", url.Values{"limit": {strconv.Itoa(looked)}}, &all),
		look(ctx, "/v1/dead", url.Values{"limit": {strconv.Itoa(looked)}}, &dead),
		look(ctx, "/v1/outbox", nil, &unsent))
	if err != nil {
		return nil, err
	}
	found = late(all, waiting)
	if len(dead) > 0 {
		found = append(found, about("dead letters").warning("botmesh dlq ls says why; dlq requeue puts them back, dlq drop removes them",
			"%s kept, the oldest for %s", are(len(dead)), age(dead[0].At)))
	}
	held := 0
	for _, u := range unsent.Chats {
		held += len(u.Held)
	}
	if held > 0 {
		found = append(found, about("held parts").warning("botmesh outbox ls names them; outbox release --part sends one, perhaps again, outbox drop leaves it",
			"%s held for an operator, since the platform may have it", are(held)))
	}
	if found == nil {
		found = append(found, about("chats").fine("none waits for longer than %v; nothing is set aside or held", waiting))
	}
	return found, nil
}

// are counts what is there, in the number that a verb agrees with.
func are(n int) string {
	if n == 1 {
		return "1 is"
	}
	return fmt.Sprintf("%d are", n)
}

// age is how long ago something was.
func age(at time.Time) string { return time.Since(at).Round(time.Second).String() }

// late names the chats that wait for longer than waiting, and counts those that wait for a build.
func late(all []admin.Chat, waiting time.Duration) (found []Finding) {
	const is = about("chats")
	n, stranded := 0, 0
	for _, chat := range all {
		if cp := chat.Checkpoint; cp != nil && !cp.Stranded.IsZero() {
			stranded++
		}
		oldest := waitsSince(chat)
		if oldest.IsZero() || time.Since(oldest) < waiting {
			continue
		}
		if n++; n <= named {
			found = append(found, is.warning("", "%s waits for %s: %s", chat.Chat, age(oldest), strings.Join(chat.Why, "; ")))
		}
	}
	if n > named {
		found = append(found, is.warning("botmesh chats ls names them", "%d more wait for longer than %v", n-named, waiting))
	}
	if stranded > 0 {
		found = append(found, about("builds").warning("deploy a build that can: botmesh chats ls --state=unreadable says why", "%d chats wait for a build that can go on from their state", stranded))
	}
	return found
}

// waitsSince is when the first of what a chat waits with came, zero if nothing waits.
func waitsSince(chat admin.Chat) time.Time {
	oldest := chat.Records.Oldest
	if out := chat.Outbox.Oldest; oldest.IsZero() || !out.IsZero() && out.Before(oldest) {
		oldest = out
	}
	return oldest
}
