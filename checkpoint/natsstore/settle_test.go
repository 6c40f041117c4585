package natsstore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/checkpoint/checkpointtest"
	"github.com/botmesh-go/botmesh/checkpoint/natsstore"
	"github.com/botmesh-go/botmesh/internal/jet"
	"github.com/botmesh-go/botmesh/internal/jet/jettest"
)

const key = "telegram.1"

// faults plays a list of faults, then none.
func faults(of ...jettest.Fault) func(jet.Publish) jettest.Fault {
	var mu sync.Mutex
	return func(jet.Publish) jettest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if len(of) == 0 {
			return jettest.None
		}
		f := of[0]
		of = of[1:]
		return f
	}
}

func memory() *jet.MemoryStream {
	return jet.NewMemory().Stream("CP", jet.MemoryConfig{MaxPerSubject: 1})
}

// SPEC: C5. DESIGN C8. Whatever answer is lost or false, a lone writer is never
// told that it was superseded, and its write is there exactly once.
func TestALoneWriterIsNeverSuperseded(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string][]jettest.Fault{
		"answer lost":                  {jettest.LostAnswer},
		"request lost":                 {jettest.LostRequest},
		"request lost three times":     {jettest.LostRequest, jettest.LostRequest, jettest.LostRequest},
		"lands late":                   {jettest.Late},
		"lands late twice":             {jettest.Late, jettest.Late},
		"false conflict":               {jettest.FalseConflict, jettest.FalseConflict},
		"conflict of its own":          {jettest.OwnConflict},
		"lost, then refused":           {jettest.LostRequest, jettest.Refused},
		"late, then refused":           {jettest.Late, jettest.Refused},
		"late, then a false conflict":  {jettest.Late, jettest.FalseConflict},
		"false conflict, then is lost": {jettest.FalseConflict, jettest.LostAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stream := memory()
				s := natsstore.New(&jettest.Faulty{Stream: stream, Choose: faults(plan...)}, "demo")
				first, err := s.Swap(t.Context(), key, checkpoint.Row{}, []byte("1"), "n1", 0)
				if err != nil || first.Nonce != "n1" {
					t.Fatalf("got %+v, %v, want the write to be done", first, err)
				}
				second, err := s.Swap(t.Context(), key, first, []byte("2"), "n2", 0)
				if err != nil {
					t.Fatalf("the next write: %v", err)
				}
				if row, err := s.Load(t.Context(), key); err != nil || row.Revision != second.Revision || string(row.Value) != "2" {
					t.Errorf("got %+v, %v, want revision %d", row, err, second.Revision)
				}
				if info, err := stream.Info(t.Context()); err != nil || info.LastSeq != 2 {
					t.Errorf("got %d writes, %v, want 2", info.LastSeq, err)
				}
			})
		})
	}
}

// SPEC: C2. DESIGN C8. What another wrote wins, also while this writer's own answer is out.
func TestAnotherWriterWins(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]jettest.Fault{
		"known": jettest.None, "request lost": jettest.LostRequest, "lands late": jettest.Late,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stream := memory()
				other := natsstore.New(stream, "demo")
				old, err := other.Swap(t.Context(), key, checkpoint.Row{}, []byte("1"), "n1", 0)
				if err != nil {
					t.Fatal(err)
				}
				s := natsstore.New(&jettest.Faulty{Stream: stream, Choose: func(p jet.Publish) jettest.Fault {
					if row, err := other.Swap(t.Context(), key, old, []byte("2"), "n2", 0); err == nil && row.Nonce != "n2" {
						t.Errorf("the other's write: got %+v", row)
					}
					return fault
				}}, "demo")
				if row, err := s.Swap(t.Context(), key, old, []byte("3"), "n3", 0); !errors.Is(err, botmesh.ErrConflict) || errors.Is(err, botmesh.ErrUnknown) {
					t.Errorf("got %+v, %v, want ErrConflict alone", row, err)
				}
				if row, err := other.Load(t.Context(), key); err != nil || string(row.Value) != "2" {
					t.Errorf("got %+v, %v, want the other's write", row, err)
				}
			})
		})
	}
}

// A refusal is told at once, as long as no copy of the write can still land.
func TestARefusalIsFinal(t *testing.T) {
	t.Parallel()
	stream := memory()
	s := natsstore.New(&jettest.Faulty{Stream: stream, Choose: faults(jettest.Refused)}, "demo")
	if _, err := s.Swap(t.Context(), key, checkpoint.Row{}, nil, "n1", 0); !errors.Is(err, botmesh.ErrRefused) || errors.Is(err, botmesh.ErrUnknown) {
		t.Errorf("got %v, want ErrRefused alone", err)
	}
	if info, err := stream.Info(t.Context()); err != nil || info.LastSeq != 0 {
		t.Errorf("got %d writes, %v, want none", info.LastSeq, err)
	}
}

// DESIGN C8. What can not be settled before the context ends is unknown, never a conflict.
func TestWhatIsNotSettledIsUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, fault := range []jettest.Fault{jettest.LostAnswer, jettest.LostRequest, jettest.FalseConflict} {
			s := natsstore.New(&jettest.Faulty{
				Stream: memory(),
				Choose: func(jet.Publish) jettest.Fault { return fault },
				Read:   func() error { return botmesh.ErrRefused },
			}, "demo")
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			began := time.Now()
			_, err := s.Swap(ctx, key, checkpoint.Row{}, nil, "n1", 0)
			cancel()
			if !errors.Is(err, botmesh.ErrUnknown) || errors.Is(err, botmesh.ErrConflict) || errors.Is(err, botmesh.ErrRefused) {
				t.Errorf("fault %d: got %v, want ErrUnknown alone", fault, err)
			}
			if took := time.Since(began); took != 10*time.Second {
				t.Errorf("fault %d: gave up after %v, want 10s", fault, took)
			}
		}
	})
}

// A deposed leader may answer a read with what was there before: that is no proof
// that the row was changed.
func TestAReadThatLagsProvesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stream := memory()
		s := natsstore.New(stream, "demo")
		old, err := s.Swap(t.Context(), key, checkpoint.Row{}, []byte("1"), "n1", 0)
		if err != nil {
			t.Fatal(err)
		}
		before, err := stream.Last(t.Context(), "$KV.BOT_demo_CP."+key)
		if err != nil {
			t.Fatal(err)
		}
		if old, err = s.Swap(t.Context(), key, old, []byte("2"), "n2", 0); err != nil {
			t.Fatal(err)
		}
		lagging := &lag{Stream: &jettest.Faulty{Stream: stream, Choose: faults(jettest.LostAnswer)}, before: before, until: time.Now().Add(300 * time.Millisecond)}
		row, err := natsstore.New(lagging, "demo").Swap(t.Context(), key, old, []byte("3"), "n3", 0)
		if err != nil || row.Revision != old.Revision+1 {
			t.Errorf("got %+v, %v, want the write to be found when the leader answers", row, err)
		}
	})
}

type lag struct {
	jet.Stream
	before jet.Stored
	until  time.Time
}

func (l *lag) Last(ctx context.Context, subject string) (jet.Stored, error) {
	if time.Now().Before(l.until) {
		return l.before, nil
	}
	return l.Stream.Last(ctx, subject)
}

// HOLE H12. A store that went back and has another row at the same revision is not
// taken for unchanged.
func TestARevisionThatRepeatsIsAnotherRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		before, after := memory(), memory()
		old, err := natsstore.New(before, "demo").Swap(t.Context(), key, checkpoint.Row{}, []byte("1"), "n1", 0)
		if err != nil {
			t.Fatal(err)
		}
		other, err := natsstore.New(after, "demo").Swap(t.Context(), key, checkpoint.Row{}, []byte("2"), "n2", 0)
		if err != nil || other.Revision != old.Revision {
			t.Fatalf("got %+v, %v, want revision %d again", other, err, old.Revision)
		}
		f := &jettest.Faulty{Stream: before}
		f.Choose = func(jet.Publish) jettest.Fault {
			f.Stream = after
			return jettest.LostRequest
		}
		if row, err := natsstore.New(f, "demo").Swap(t.Context(), key, old, []byte("3"), "n3", 0); !errors.Is(err, botmesh.ErrConflict) {
			t.Errorf("got %+v, %v, want ErrConflict", row, err)
		}
	})
}

// SPEC: C1 C5. Four replicas write one chain while a third of all answers is lost,
// late or false.
func TestWritersMakeOneChainUnderFaults(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stream := memory()
				checkpointtest.Chain(t, 4, 20, func(writer int) checkpoint.Store {
					rnd := rand.New(rand.NewPCG(seed, uint64(writer)))
					return natsstore.New(&jettest.Faulty{
						Stream: stream,
						Choose: func(jet.Publish) jettest.Fault { return jettest.Fault(max(0, rnd.IntN(18)-11)) },
						Read: func() error {
							if rnd.IntN(10) == 0 {
								return botmesh.ErrRefused
							}
							return nil
						},
					}, "demo")
				})
			})
		})
	}
}

// What `nats kv del` leaves behind is no row, and no obstacle.
func TestAMarkerIsNoRow(t *testing.T) {
	t.Parallel()
	stream := memory()
	s := natsstore.New(stream, "demo")
	old, err := s.Swap(t.Context(), key, checkpoint.Row{}, []byte("1"), "n1", 0)
	if err != nil {
		t.Fatal(err)
	}
	marker := jet.Msg{Subject: "$KV.BOT_demo_CP." + key, Header: nats.Header{"KV-Operation": {"DEL"}}}
	if _, err := stream.Publish(t.Context(), jet.Publish{Msg: marker}); err != nil {
		t.Fatal(err)
	}
	if row, err := s.Load(t.Context(), key); err != nil || row.Revision != 0 {
		t.Fatalf("got %+v, %v, want the zero Row", row, err)
	}
	if err := s.Keys(t.Context(), func(k string) bool { t.Errorf("key %s is listed", k); return true }); err != nil {
		t.Error(err)
	}
	if _, err := s.Swap(t.Context(), key, old, []byte("2"), "n2", 0); !errors.Is(err, botmesh.ErrConflict) {
		t.Errorf("swap of the deleted row: got %v, want ErrConflict", err)
	}
	row, err := s.Swap(t.Context(), key, checkpoint.Row{}, []byte("3"), "n3", 0)
	if err != nil || row.Revision <= old.Revision {
		t.Errorf("got %+v, %v, want a row after the marker", row, err)
	}
}

func TestBadKeysAreRefused(t *testing.T) {
	t.Parallel()
	s := natsstore.New(memory(), "demo")
	for _, k := range []string{"", ".", "x.", ".x", "x.*", "x.>", "x y", "x.\n", strings.Repeat("ñ", 2)} {
		if _, err := s.Load(t.Context(), k); err == nil {
			t.Errorf("load %q: got no error", k)
		}
		if _, err := s.Swap(t.Context(), k, checkpoint.Row{}, nil, "n", 0); err == nil {
			t.Errorf("swap %q: got no error", k)
		}
	}
}
