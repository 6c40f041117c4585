package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/botmesh-go/botmesh"
)

// userFormat is the newest format of a [User] that this build reads, and the one it writes.
const userFormat = 1

// User is what is kept of a user, across the chats they have with one account. It is
// stored in a row of its own, under [UserKey].
//
// Each field goes by itself, to the last commit that changed it. So changes may be
// applied in any order and any number of times, and the row comes to the same.
type User struct {
	Format int `json:"format"`
	// Fields are by name. One that was removed stays a while, without a value: an
	// older change that comes late must not bring it back.
	Fields map[string]Field `json:"fields,omitempty"`
}

// Field is one value that is kept of a user.
type Field struct {
	Value json.RawMessage `json:"value,omitempty"`
	// At is the time of the commit that left it, By tells commits of one time apart.
	At time.Time `json:"at"`
	By uint64    `json:"by"`
}

// UserChange is what a commit changes of a user: an effect.
type UserChange struct {
	User string    `json:"user"` // the platform's id
	At   time.Time `json:"at"`
	By   uint64    `json:"by"`
	// Fields are by name, null for one that is removed.
	Fields map[string]json.RawMessage `json:"fields"`
}

// UserKey is where a store keeps a user of an account. It begins with "_", as no
// chat's key does.
func UserKey(provider, user string) string {
	return "_user." + botmesh.ChatKey{Provider: provider, Chat: user}.Key()
}

// Change makes the change that the commit of an id, at a time, makes to u. Its time is
// after that of all that u holds, even if another replica's clock is ahead.
func (u User) Change(user, id string, now time.Time, fields map[string]json.RawMessage) UserChange {
	for _, f := range u.Fields {
		if !now.After(f.At) {
			now = f.At.Add(1)
		}
	}
	return UserChange{User: user, At: now.UTC(), By: hashID(id), Fields: fields}
}

// With returns u with a change, and false if that changes nothing. Fields that were
// removed before a time are forgotten.
func (u User) With(c UserChange, forget time.Time) (User, bool) {
	fields, changed := maps.Clone(u.Fields), false
	if fields == nil {
		fields = map[string]Field{}
	}
	for name, value := range c.Fields {
		old, have := fields[name]
		if have && (old.At.After(c.At) || old.At.Equal(c.At) && old.By >= c.By) {
			continue
		}
		if isNull(value) {
			value = nil
		}
		fields[name], changed = Field{Value: value, At: c.At, By: c.By}, true
	}
	maps.DeleteFunc(fields, func(_ string, f Field) bool { return f.Value == nil && f.At.Before(forget) })
	return User{Fields: fields}, changed
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || bytes.Equal(raw, []byte("null")) }

// Values are the fields that have one.
func (u User) Values() map[string]json.RawMessage {
	values := map[string]json.RawMessage{}
	for name, f := range u.Fields {
		if f.Value != nil {
			values[name] = f.Value
		}
	}
	return values
}

// Encode writes u as a store keeps it.
func (u User) Encode() ([]byte, error) {
	u.Format = userFormat
	b, err := json.Marshal(u)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: encode a user: %w", err)
	}
	return b, nil
}

// DecodeUser reads what [User.Encode] wrote; nothing at all is the zero User. The
// error is [ErrNewerFormat] if this build is too old for it.
func DecodeUser(b []byte) (User, error) {
	if len(b) == 0 {
		return User{}, nil
	}
	var u User
	if err := json.Unmarshal(b, &u); err != nil {
		return User{}, fmt.Errorf("checkpoint: decode a user: %w", err)
	}
	if u.Format > userFormat {
		return User{}, fmt.Errorf("%w: a user of format %d, want at most %d", ErrNewerFormat, u.Format, userFormat)
	}
	return u, nil
}
