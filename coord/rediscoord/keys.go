package rediscoord

// layout is the version of the names and of what is stored under them. Another
// one under the same prefix is refused.
const layout = "1"

// names are the names in Redis under one prefix.
type names struct{ prefix string }

func (n names) turn(key string) string          { return n.prefix + ":{" + key + "}:turn" }
func (n names) alive(incarnation string) string { return n.prefix + ":alive:" + incarnation }
func (n names) layout() string                  { return n.prefix + ":layout" }

// wake is the channel of an incarnation; without one, how all channels begin.
func (n names) wake(incarnation string) string { return n.prefix + ":wake:" + incarnation }
