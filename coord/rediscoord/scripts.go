package rediscoord

import (
	"crypto/sha1"
	_ "embed" // the scripts
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/botmesh-go/botmesh"
)

//go:embed lua/line.lua
var lineLua string

//go:embed lua/take.lua
var takeLua string

//go:embed lua/renew.lua
var renewLua string

//go:embed lua/release.lua
var releaseLua string

//go:embed lua/view.lua
var viewLua string

//go:embed lua/break.lua
var breakLua string

//go:embed lua/lock.lua
var lockLua string

// The scripts. Those on a line begin with what they share.
var (
	takeScript    = newScript(lineLua + takeLua)
	renewScript   = newScript(lineLua + renewLua)
	releaseScript = newScript(lineLua + releaseLua)
	viewScript    = newScript(lineLua + viewLua)
	breakScript   = newScript(lineLua + breakLua)
	lockScript    = newScript(lockLua)
)

// script is a Lua script that Redis knows by its hash once it has seen it.
type script struct{ source, hash string }

func newScript(source string) *script {
	sum := sha1.Sum([]byte(source))
	return &script{source: source, hash: hex.EncodeToString(sum[:])}
}

// reply is what a script gives: numbers and strings.
type reply []any

func (r reply) number(i int) uint64 {
	if i < len(r) {
		if n, ok := r[i].(int64); ok && n >= 0 {
			return uint64(n)
		}
	}
	return 0
}

func (r reply) text(i int) string {
	if i < len(r) {
		if s, ok := r[i].(string); ok {
			return s
		}
	}
	return ""
}

// status is the first number of a reply, which says what kind it is: one of those
// that the script gives. Any other says nothing of what was done.
func (r reply) status(known ...int) (int, error) {
	if len(r) > 0 {
		if n, ok := r[0].(int64); ok && slices.Contains(known, int(n)) {
			return int(n), nil
		}
	}
	return 0, fmt.Errorf("rediscoord: a script gave %v: %w", []any(r), botmesh.ErrUnknown)
}
