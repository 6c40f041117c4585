package check

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"github.com/botmesh-go/botmesh/internal/jet"
)

// Copy is what one node holds of a stream.
type Copy struct {
	Stream, Node string
	// Messages counts what it holds.
	Messages int
	// Differs is the first place where it holds something else than the first node
	// does, in words, empty if there is none.
	Differs string
}

// Held is one message of a copy.
type Held struct {
	Seq uint64
	Sum [sha256.Size]byte // of all that it is
}

// HeldOf sums up a message: its place, subject, time, headers and data.
func HeldOf(m jet.Stored) Held {
	h := sha256.New()
	put := func(b string) { fmt.Fprintf(h, "%d:%s", len(b), b) }
	put(fmt.Sprint(m.Seq, " ", m.Time.UnixNano()))
	put(m.Subject)
	put(string(m.Data))
	for _, name := range slices.Sorted(maps.Keys(m.Header)) {
		put(name)
		put(fmt.Sprintf("%q", m.Header[name]))
	}
	held := Held{Seq: m.Seq}
	h.Sum(held.Sum[:0])
	return held
}

// Compare compares what nodes hold of a stream, each in the order of the stream, with what
// the first of them by name holds.
func Compare(stream string, nodes map[string][]Held) (copies []Copy) {
	names := slices.Sorted(maps.Keys(nodes))
	for _, name := range names {
		copies = append(copies, Copy{
			Stream: stream, Node: name, Messages: len(nodes[name]), Differs: difference(names[0], nodes[names[0]], nodes[name]),
		})
	}
	return copies
}

// difference is the first place at which a copy differs from the one of a node.
func difference(first string, want, got []Held) string {
	for i := range max(len(want), len(got)) {
		switch {
		case i == len(got) || i < len(want) && want[i].Seq < got[i].Seq:
			return fmt.Sprintf("it has no message %d, which %s has", want[i].Seq, first)
		case i == len(want) || got[i].Seq < want[i].Seq:
			return fmt.Sprintf("it has message %d, which %s has not", got[i].Seq, first)
		case want[i].Sum != got[i].Sum:
			return fmt.Sprintf("its message %d is another than that of %s", got[i].Seq, first)
		}
	}
	return ""
}

// copies checks R3: all nodes hold the same. One node alone can not differ.
func (w *world) copies() {
	if w.Single {
		return
	}
	for _, c := range w.Copies {
		w.looked("R3", c.Messages)
		if c.Differs != "" {
			w.violate("R3", "", "the %s of %s, %d messages: %s", c.Stream, c.Node, c.Messages, c.Differs)
		}
	}
}
