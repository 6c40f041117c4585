package journal

import (
	"context"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh/internal/jet"
)

// What was read for one record serves the next: whatever was asked before, the answer is
// the one that reading all anew gives, or that of a record from further back.
//
// SPEC: J2
func TestRepeatsIsToldFromWhatWasRead(t *testing.T) {
	t.Parallel()
	for s := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			j, random := openMemory(t, jet.NewMemory(), "e1"), rand.New(rand.NewPCG(s, 1))
			for range 1500 {
				id := fmt.Sprint(random.IntN(1300))
				mustPublish(t, j.Publisher, message(chat(fmt.Sprint(random.IntN(2))), id, id))
				pass(3 * time.Minute) // past the duplicate window
			}
			all, err := j.List(t.Context(), Filter{Chat: chat("0"), Limit: MaxList})
			if err != nil {
				t.Fatal(err)
			}
			var known Earlier
			for range 100 {
				n := random.IntN(len(all)-1) + 1
				r := all[n].Record
				since := all[random.IntN(n)].Record.Stored
				got, err := j.Repeats(t.Context(), r, since, &known)
				in := func(e Entry) bool { return e.Record.ID == r.ID }
				within := slices.ContainsFunc(all[:n], func(e Entry) bool { return in(e) && !e.Record.Stored.Before(since) })
				if before := slices.ContainsFunc(all[:n], in); err != nil || got && !before || !got && within {
					t.Fatalf("seed %d: got %v, %v of %d, want %v", s, got, err, r.Seq, within)
				}
			}
		})
	}
}

// Two ids of one hash are not taken for one another, and a chat of more ids than are kept
// is asked about all the same.
func TestRepeatsIsSure(t *testing.T) {
	t.Parallel()
	j := openMemory(t, jet.NewMemory(), "e1")
	for i := range maxEarlier + 10 {
		mustPublish(t, j.Publisher, message(chat("0"), fmt.Sprint(i), "x"))
	}
	all, err := j.List(t.Context(), Filter{Limit: MaxList})
	if err != nil {
		t.Fatal(err)
	}
	began := all[0].Record.Stored
	var known Earlier
	if got, err := j.Repeats(t.Context(), all[100].Record, began, &known); err != nil || got {
		t.Fatalf("got %v, %v, want a new record", got, err)
	}
	known.first[maphash.String(seed, "50")], known.first[maphash.String(seed, "101")] = 1, 7
	again := all[101].Record
	if got, err := j.Repeats(t.Context(), again, began, &known); err != nil || got {
		t.Errorf("an id with the hash of another: got %v, %v, want a new record", got, err)
	}
	again.ID = "50"
	if got, err := j.Repeats(t.Context(), again, began, &known); err != nil || !got {
		t.Errorf("a repetition whose hash another id had first: got %v, %v, want it found", got, err)
	}
	last := all[len(all)-1].Record
	for id, want := range map[string]bool{"3": true, last.ID: false} {
		last.ID = id
		if got, err := j.Repeats(t.Context(), last, began, &known); err != nil || got != want || !known.full {
			t.Errorf("of more than are kept: got %v, %v for %s, want %v", got, err, id, want)
		}
	}
}

// All chats share the room for ids; one that finds none is asked about all the same, and what
// is forgotten is room again.
func TestRepeatsSharesItsRoom(t *testing.T) {
	t.Parallel()
	j := openMemory(t, jet.NewMemory(), "e1")
	const each = 40
	for i := range each {
		for _, c := range []string{"0", "1"} {
			mustPublish(t, j.Publisher, message(chat(c), fmt.Sprint(c, "-", i), "x"))
		}
	}
	const kept = each - 1 // the record that is asked about need not be known
	const room = kept + each/2
	j.room.Store(room)
	ask := func(c string, known *Earlier) {
		t.Helper()
		all, err := j.List(t.Context(), Filter{Chat: chat(c), Limit: MaxList})
		if err != nil {
			t.Fatal(err)
		}
		last := all[len(all)-1].Record
		for id, want := range map[string]bool{last.ID: false, c + "-3": true} {
			last.ID = id
			if got, err := j.Repeats(t.Context(), last, all[0].Record.Stored, known); err != nil || got != want {
				t.Errorf("of chat %s: got %v, %v for %s, want %v", c, got, err, id, want)
			}
		}
	}
	var first, second Earlier
	ask("0", &first)
	ask("1", &second)
	if first.full || !second.full || j.room.Load() != room-kept {
		t.Errorf("got full: %t and %t, with room for %d, want the second alone and %d", first.full, second.full, j.room.Load(), room-kept)
	}
	second.Forget()
	first.Forget()
	ask("0", nil) // keeps nothing
	ask("1", &second)
	if second.full || j.room.Load() != room-kept {
		t.Errorf("after the first is forgotten: got full: %t with room for %d, want room for %d", second.full, j.room.Load(), room-kept)
	}
}

// A backlog: of a chat with 5000 records each of the last 1000 comes late.
func BenchmarkRepeats(b *testing.B) {
	server, reads := jet.NewMemory(), 0
	defer server.Close()
	inbox := server.Stream(InboxStream(testBot), jet.MemoryConfig{Metadata: map[string]string{"botmesh.epoch": "e1"}})
	counted := &faulty{Stream: inbox}
	counted.rangeOf = func(ctx context.Context, subject string, from uint64, limit int) ([]jet.Stored, error) {
		reads++
		return inbox.Range(ctx, subject, from, limit)
	}
	j, err := Open(b.Context(), Config{Bot: testBot, Inbox: counted, Dead: server.Stream(DeadStream(testBot), jet.MemoryConfig{})})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 5000 {
		r := benchRecord()
		r.ID = fmt.Sprint(i)
		if _, err := j.Publish(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
	all, err := j.List(b.Context(), Filter{Limit: MaxList})
	if err != nil {
		b.Fatal(err)
	}
	for name, keep := range map[string]bool{"kept": true, "each anew": false} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var known *Earlier
				if reads = 0; keep {
					known = new(Earlier)
				}
				for _, e := range all[4000:] {
					if got, err := j.Repeats(b.Context(), e.Record, all[0].Record.Stored, known); err != nil || got {
						b.Fatalf("got %v, %v, want a new record", got, err)
					}
				}
			}
			b.ReportMetric(float64(reads), "reads/op")
		})
	}
}

func BenchmarkEarlierMemory(b *testing.B) {
	entries := make([]Entry, maxEarlier)
	for i := range entries {
		entries[i].Record.ID, entries[i].Record.Seq = fmt.Sprint(i), uint64(i)
	}
	b.ReportAllocs()
	for b.Loop() {
		known := Earlier{first: map[uint64]uint64{}}
		for page := range slices.Chunk(entries, holdsPage) {
			known.add(page)
		}
	}
}
