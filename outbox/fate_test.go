package outbox

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// SPEC: O6
func TestFates(t *testing.T) {
	bubble(t, func(w *world) {
		a := w.process("a")
		a.answer = func(_ context.Context, part string) error {
			switch part {
			case "2":
				return provider.Permanent(errors.New("no"))
			case "4":
				return provider.Retry(errors.New("later"), time.Hour)
			}
			return nil
		}
		for _, text := range []string{"1,2", "3", "4,5"} {
			seq, _ := a.append(text)
			a.deliver(seq)
		}
		fates, err := a.Fates(w.Context(), chatA, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]State{}
		for _, f := range fates {
			got[f.Part.Send.Text] = f.State()
		}
		want := map[string]State{"1": StateSent, "2": StateDead, "3": StateSent, "4": StateWaiting, "5": StateWaiting}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		if f := fates[0]; f.Receipt == nil || f.Receipt.ProviderID != "m-1" || f.Seq == 0 || f.Letter == "" || f.At.IsZero() {
			t.Errorf("got %+v, want the letter and the receipt of the part", f)
		}
		if second, err := a.Fates(w.Context(), chatA, fates[1].Seq+1, 1); err != nil || len(second) != 1 || second[0].Part.Send.Text != "3" || second[0].Receipt == nil {
			t.Errorf("got %+v, %v, want the second letter alone", second, err)
		}
		if none, err := a.Fates(w.Context(), chatA, fates[4].Seq+1, 10); err != nil || len(none) != 0 {
			t.Errorf("got %+v, %v, want none", none, err)
		}
	})
}

func status(of, word string, at time.Time) botmesh.Record {
	return botmesh.Record{Type: botmesh.TypeStatus, SentAt: at, Message: botmesh.Message{Of: of, Status: word}}
}

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func sentPart(id, providerID string) Fate {
	return Fate{Part: botmesh.Part{ID: id}, Receipt: &botmesh.Receipt{Part: id, Result: botmesh.ResultDelivered, ProviderID: providerID}}
}

// SPEC: O6
func TestStatusesAttachToTheirPart(t *testing.T) {
	t.Parallel()
	held := Fate{Part: botmesh.Part{ID: "p3"}, Receipt: &botmesh.Receipt{Part: "p3", Result: botmesh.ResultHeld, InDoubt: true}}
	fates := []Fate{sentPart("p1", "m1"), sentPart("p2", "m2"), held, {Part: botmesh.Part{ID: "p4"}}, sentPart("p5", ""), sentPart("p6", "m6")}
	ofPart := func(part, word string) botmesh.Record {
		r := status("m-of-"+part, word, noon)
		r.Message.Part = part
		return r
	}
	failed := status("m6", "failed", time.Time{})
	failed.Message.Text, failed.Stored = "131047 Re-engagement message", noon
	other := status("m1", "read", noon)
	other.Type = botmesh.TypeEvent
	Attach(fates, []botmesh.Record{
		status("m1", "read", noon.Add(time.Minute)), status("m1", "sent", noon), other,
		ofPart("p3", "delivered"), // the call had no answer, and the platform tells the part
		ofPart("p4", "sent"),      // before the part's receipt
		status("p5", "played", noon), status("", "read", noon), status("m2", "wondered", noon), status("unknown", "read", noon),
		failed,
	})
	var got []State
	for _, f := range fates {
		got = append(got, f.State())
	}
	want := []State{StateRead, StateSent, StateDelivered, StateSent, StateRead, StateFailed}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if f := fates[0]; !f.Read.Equal(noon.Add(time.Minute)) || !f.Sent.Equal(noon) || !f.Delivered.IsZero() {
		t.Errorf("got %+v, want it sent at noon and read a minute later", f)
	}
	if f := fates[5]; !f.Failed.Equal(noon) || f.Reason != "131047 Re-engagement message" {
		t.Errorf("got %+v, want the failure when it was stored, with its reason", f)
	}
}

// In whatever order and however often the platform tells it, the same comes of it, and
// with each status that comes the state never falls.
//
// SPEC: O6
func TestStatusesAreMonotone(t *testing.T) {
	t.Parallel()
	rank := map[State]int{StateSent: 0, StateFailed: 1, StateDelivered: 2, StateRead: 3}
	rapid.Check(t, func(t *rapid.T) {
		told := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) botmesh.Record {
			return status("m", rapid.SampledFrom([]string{"sent", "delivered", "read", "played", "failed", "?"}).Draw(t, "word"),
				noon.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "second"))*time.Second))
		}), 0, 8).Draw(t, "told")
		all := []Fate{sentPart("p", "m")}
		Attach(all, told)
		one := []Fate{sentPart("p", "m")}
		order := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0)).Perm(len(told))
		last := StateSent
		for _, i := range order {
			Attach(one, []botmesh.Record{told[i], told[i]})
			if now := one[0].State(); rank[now] < rank[last] {
				t.Fatalf("got %s after %s, want no step back", now, last)
			}
			last = one[0].State()
		}
		if diff := gocmp.Diff(all, one); diff != "" {
			t.Fatalf("told at once and one by one (-at once +one by one):\n%s", diff)
		}
	})
}
