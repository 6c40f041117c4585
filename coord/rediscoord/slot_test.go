package rediscoord

import "testing"

// SPEC: T13. Slots are those of Redis Cluster.
func TestSlot(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{
		"123456789": 12739, "foo": 12182, "bot:{foo}:turn": 12182, "{foo}{bar}": 12182,
		"{}foo": 9500, "foo{": 7673, "foo{}{bar}": 8363, "": 0,
	} {
		if got := slot(name); got != want {
			t.Errorf("slot of %q: got %d, want %d", name, got, want)
		}
	}
}
