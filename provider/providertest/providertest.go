// Package providertest is what every provider must pass: its samples become the
// records they should, what was not signed is refused, and whatever body comes,
// the records are such that they can be journaled. Webhooks are delivered to an ingress
// with a journal in memory, as they are to the shipped one.
package providertest

import (
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// maxID is the longest id of a record or of a user, in bytes.
const maxID = 200

// Sample is a webhook and what it becomes.
type Sample struct {
	Name   string
	Header http.Header
	Body   []byte
	// Want are the records without Raw.
	Want []botmesh.Record
}

// Receiver checks that r verifies and parses the samples, each by itself and the
// same every time; that each is journaled once, however often it is delivered; and that
// it is answered 401 with any byte changed of any of the headers that sign, or without it.
func Receiver(t *testing.T, r provider.Receiver, samples []Sample, sign ...string) {
	t.Helper()
	if len(samples) == 0 || len(sign) == 0 {
		t.Fatal("got no samples or no headers that sign, want both")
	}
	if !botmesh.ValidName(r.ID()) || r.MaxBody() <= 0 {
		t.Errorf("got id %q and body bound %d, want a valid id and a bound", r.ID(), r.MaxBody())
	}
	for _, s := range samples {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			if err := r.Verify(s.Header, s.Body); err != nil {
				t.Fatalf("verify: got %v, want no error", err)
			}
			body := string(s.Body)
			got, err := r.Parse(s.Header, s.Body)
			if err != nil {
				t.Fatalf("parse: got %v, want no error", err)
			}
			if diff := cmp.Diff(s.Want, got, cmpopts.IgnoreFields(botmesh.Record{}, "Raw"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if err := Check(r, got); err != nil {
				t.Error(err)
			}
			if again, err := r.Parse(s.Header, s.Body); err != nil || !reflect.DeepEqual(got, again) {
				t.Errorf("parsed again: got %+v, %v, want the same records", again, err)
			}
			if string(s.Body) != body {
				t.Error("got a changed body, want it as it was")
			}
			s.journals(t, r)
		})
	}
	t.Run("Unsigned", func(t *testing.T) {
		t.Parallel()
		h := open(t, r)
		for _, s := range samples {
			for _, name := range sign {
				for _, forged := range forgeries(s.Header, name) {
					h.refused(t, forged, s.Body, fmt.Sprintf("%s with %s: %q", s.Name, name, forged.Values(name)))
				}
			}
		}
		h.holds(t, "nothing signed", nil)
	})
}

// forgeries are copies of h without the header, with it empty, and with each
// byte of it changed.
func forgeries(h http.Header, name string) []http.Header {
	name = http.CanonicalHeaderKey(name)
	without := h.Clone()
	without.Del(name)
	forged := []http.Header{without}
	set := func(v string) {
		c := h.Clone()
		c.Set(name, v)
		forged = append(forged, c)
	}
	set("")
	value := h.Get(name)
	for i := range len(value) {
		b := []byte(value)
		b[i] ^= 1
		set(string(b))
	}
	return append(forged, nil)
}

// Check says what keeps records from being journaled, or nil.
func Check(r provider.Receiver, recs []botmesh.Record) error { return check(r.ID(), recs) }

func check(id string, recs []botmesh.Record) error {
	seen := map[string]bool{}
	for i, rec := range recs {
		switch {
		case rec.ID == "" || len(rec.ID) > maxID:
			return fmt.Errorf("record %d: got an id of %d bytes, want 1 to %d", i, len(rec.ID), maxID)
		case seen[rec.ID]:
			return fmt.Errorf("record %d: got the id %q again, want one for each record", i, rec.ID)
		case rec.Chat.Provider != id:
			return fmt.Errorf("record %d: got provider %q, want %q", i, rec.Chat.Provider, id)
		case rec.Chat.Validate() != nil:
			return fmt.Errorf("record %d: %w", i, rec.Chat.Validate())
		case rec.Chat.Chat == "-" && rec.Type != botmesh.TypeEvent:
			return fmt.Errorf("record %d: got type %q without a chat, want %q", i, rec.Type, botmesh.TypeEvent)
		case !known[rec.Type]:
			return fmt.Errorf("record %d: got the unknown type %q", i, rec.Type)
		case rec.Seq != 0 || rec.Epoch != "" || !rec.Stored.IsZero():
			return fmt.Errorf("record %d: got a place in the journal, want none", i)
		case len(rec.User) > maxID:
			return fmt.Errorf("record %d: got a user of %d bytes, want at most %d", i, len(rec.User), maxID)
		case !rec.SentAt.IsZero() && (rec.SentAt.Location() != time.UTC || rec.SentAt.Year() > 9999):
			return fmt.Errorf("record %d: got the time %v, want one in UTC before the year 10000", i, rec.SentAt)
		}
		seen[rec.ID] = true
	}
	return nil
}

var known = map[botmesh.RecordType]bool{
	botmesh.TypeMessage: true, botmesh.TypeCallback: true, botmesh.TypeEdit: true, botmesh.TypeDelete: true,
	botmesh.TypeReaction: true, botmesh.TypeStatus: true, botmesh.TypeMembership: true,
	botmesh.TypeOptOut: true, botmesh.TypeOptIn: true, botmesh.TypeEvent: true,
}

// FuzzParse checks that no body makes r panic, and that what it parses can be
// journaled and is the same every time.
func FuzzParse(f *testing.F, r provider.Receiver, h http.Header, seeds ...[]byte) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		recs, err := r.Parse(h, body)
		if err != nil {
			if len(recs) > 0 || err.Error() == "" {
				t.Errorf("got %d records and the error %q, want an error that names the fault, and no records", len(recs), err)
			}
			return
		}
		if err := Check(r, recs); err != nil {
			t.Error(err)
		}
		if again, err := r.Parse(h, body); err != nil || !reflect.DeepEqual(recs, again) {
			t.Errorf("parsed again: got %+v, %v, want %+v", again, err, recs)
		}
		if a, ok := r.(provider.Answerer); ok {
			a.Answer(body)
		}
	})
}
