package checkpoint_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
)

// Changes of a user come to the same in whatever order and however often they are
// applied, and each field is as the last commit left it.
//
// SPEC: C7.
func TestChangesOfAUserComeInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		begin := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
		var changes []checkpoint.UserChange
		want := map[string]json.RawMessage{}
		last := map[string]time.Time{}
		for i := range rapid.IntRange(1, 8).Draw(t, "changes") {
			at := begin.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "at")) * 100) // no two at one time
			at = at.Add(time.Duration(i))
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
			value := json.RawMessage(fmt.Sprint(i))
			if rapid.Bool().Draw(t, "remove") {
				value = json.RawMessage("null")
			}
			c := checkpoint.User{}.Change("u", fmt.Sprint(i), at, map[string]json.RawMessage{name: value})
			changes = append(changes, c)
			if at.After(last[name]) {
				want[name], last[name] = value, at
			}
		}
		for name, value := range want {
			if string(value) == "null" {
				delete(want, name)
			}
		}
		order := rapid.Permutation(append(changes, changes...)).Draw(t, "order")
		u := checkpoint.User{}
		for _, c := range order {
			b, err := u.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if u, err = checkpoint.DecodeUser(b); err != nil {
				t.Fatal(err)
			}
			u, _ = u.With(c, begin)
		}
		if diff := cmp.Diff(want, u.Values()); diff != "" {
			t.Fatalf("kept (-want +got):\n%s", diff)
		}
		for _, c := range changes {
			if _, changed := u.With(c, begin); changed {
				t.Fatalf("got a change by %+v again, want none", c)
			}
		}
	})
}

// A commit that has seen what another left is after it, though the other's clock is ahead.
//
// SPEC: C7. DESIGN: N10.
func TestAChangeOfAUserIsAfterWhatItsRunRead(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ahead := checkpoint.User{}.Change("u", "1", now.Add(time.Hour), map[string]json.RawMessage{"a": json.RawMessage("1")})
	u, _ := checkpoint.User{}.With(ahead, now)
	u, _ = u.With(u.Change("u", "2", now, map[string]json.RawMessage{"a": json.RawMessage("2")}), now)
	if got := string(u.Values()["a"]); got != "2" {
		t.Errorf("got %s, want what the later commit left: 2", got)
	}
	// What was removed is forgotten in the end.
	u, _ = u.With(u.Change("u", "3", now, map[string]json.RawMessage{"a": nil}), now)
	if _, kept := u.Fields["a"]; !kept {
		t.Error("got a removed field forgotten at once, want it kept for changes that come late")
	}
	u, _ = u.With(checkpoint.UserChange{}, now.Add(2*time.Hour))
	if len(u.Fields) > 0 {
		t.Errorf("got %v kept of a removed field, want nothing", u.Fields)
	}
}

func TestAUserThatCanNotBeRead(t *testing.T) {
	t.Parallel()
	if _, err := checkpoint.DecodeUser([]byte(`{"format":9}`)); !errors.Is(err, checkpoint.ErrNewerFormat) {
		t.Errorf("got %v, want ErrNewerFormat", err)
	}
	if _, err := checkpoint.DecodeUser([]byte(`{`)); err == nil || errors.Is(err, checkpoint.ErrNewerFormat) {
		t.Errorf("got %v, want an error of decoding", err)
	}
}

// A user's key is no chat's, and stays in what a store takes.
func TestUserKey(t *testing.T) {
	t.Parallel()
	for _, user := range []string{"42", "a.b >*", strings.Repeat("x", 300)} {
		key := checkpoint.UserKey("telegram", user)
		if _, err := botmesh.ParseKey(key); err == nil {
			t.Errorf("%s: got a chat's key, want none", key)
		}
		if strings.ContainsAny(key, " >*") || len(key) > 200 {
			t.Errorf("got the key %q", key)
		}
	}
}
