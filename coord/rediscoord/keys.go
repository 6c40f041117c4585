package rediscoord

import (
	"strings"

	"github.com/botmesh-go/botmesh/coord"
)

// layout is the version of the names and of what is stored under them. Another
// one under the same prefix is refused.
const layout = "1"

// names are the names in Redis under one prefix.
type names struct{ prefix string }

// key is the hash of a key of a kind.
func (n names) key(kind coord.Kind, key string) string {
	return n.prefix + ":{" + key + "}:" + string(kind)
}

// pattern matches the hashes of a kind.
func (n names) pattern(kind coord.Kind) string {
	quote := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)
	return quote.Replace(n.prefix) + ":{*}:" + string(kind)
}

// parse is the key of a hash of a kind.
func (n names) parse(kind coord.Kind, hash string) string {
	return strings.TrimSuffix(strings.TrimPrefix(hash, n.prefix+":{"), "}:"+string(kind))
}

func (n names) alive(incarnation string) string { return n.prefix + ":alive:" + incarnation }
func (n names) door(name string) string         { return n.prefix + ":{" + name + "}:door" }
func (n names) layout() string                  { return n.prefix + ":layout" }

// wake is the channel of an incarnation; without one, how all channels begin.
func (n names) wake(incarnation string) string { return n.prefix + ":wake:" + incarnation }
