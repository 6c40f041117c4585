package streams

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Diff is what separates wanted streams from those that are there, empty if nothing.
type Diff []Change

// Change is one stream that is not as wanted.
type Change struct {
	Stream string  `json:"stream"`
	Absent bool    `json:"absent,omitempty"`
	Fields []Field `json:"fields,omitempty"`

	have, want jetstream.StreamConfig
}

// Field is one setting that differs, by the name that the server gives it.
type Field struct {
	Name string `json:"name"`
	Have string `json:"have"`
	Want string `json:"want"`
}

// String shows a diff to people, a line for each stream and setting.
func (d Diff) String() string {
	var b strings.Builder
	for _, c := range d {
		if c.Absent {
			fmt.Fprintf(&b, "%s is absent\n", c.Stream)
			continue
		}
		fmt.Fprintf(&b, "%s differs\n", c.Stream)
		for _, f := range c.Fields {
			fmt.Fprintf(&b, "  %s is %s, want %s\n", f.Name, f.Have, f.Want)
		}
	}
	return b.String()
}

// DifferError says that streams are not as wanted and that it is an operator's to
// decide what is right.
type DifferError struct{ Diff Diff }

func (e *DifferError) Error() string {
	return "streams: not as wanted, see botmesh streams plan and apply:\n" + e.Diff.String()
}

// compare returns nil if the stream is as wanted.
func compare(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig) (*Change, error) {
	stream, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return &Change{Stream: want.Name, Absent: true, want: want}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("streams: look at %s: %w", want.Name, readFailed(err))
	}
	have := stream.CachedInfo().Config
	fields, err := differences(have, want)
	if err != nil || fields == nil {
		return nil, err
	}
	return &Change{Stream: want.Name, Fields: fields, have: have, want: want}, nil
}

// differences compares setting by setting, with what the server fills in filled in.
func differences(have, want jetstream.StreamConfig) ([]Field, error) {
	if want.Replicas == 0 {
		want.Replicas = have.Replicas
	}
	h, err := settings(have)
	if err != nil {
		return nil, err
	}
	w, err := settings(asServed(want))
	if err != nil {
		return nil, err
	}
	var fields []Field
	for _, name := range slices.Sorted(maps.Keys(merged(h, w))) {
		if ignored(name, want) || string(h[name]) == string(w[name]) {
			continue
		}
		fields = append(fields, Field{name, show(name, h[name]), show(name, w[name])})
	}
	return append(fields, metadata(have.Metadata, want.Metadata)...), nil
}

// ignored are the settings that change no promise: they are the operator's. The
// metadata is compared apart.
func ignored(name string, want jetstream.StreamConfig) bool {
	switch name {
	case "metadata", "description", "compression":
		return true
	case "placement":
		return want.Placement == nil
	}
	return false
}

// metadata compares the entries that are wanted; others are somebody else's. An
// epoch only has to be there.
func metadata(have, want map[string]string) []Field {
	var fields []Field
	for _, key := range slices.Sorted(maps.Keys(want)) {
		name, got := "metadata."+key, cmp.Or(have[key], "absent")
		switch {
		case key == EpochKey && have[key] == "":
			fields = append(fields, Field{name, "absent", "a random one"})
		case key != EpochKey && have[key] != want[key]:
			fields = append(fields, Field{name, got, want[key]})
		}
	}
	return fields
}

// asServed fills in what the server does.
func asServed(c jetstream.StreamConfig) jetstream.StreamConfig {
	c.MaxMsgs = cmp.Or(c.MaxMsgs, -1)
	c.MaxBytes = cmp.Or(c.MaxBytes, -1)
	c.MaxMsgsPerSubject = cmp.Or(c.MaxMsgsPerSubject, -1)
	c.MaxMsgSize = cmp.Or(c.MaxMsgSize, -1)
	c.MaxConsumers = cmp.Or(c.MaxConsumers, -1)
	c.AllowMsgTTL = c.AllowMsgTTL || c.SubjectDeleteMarkerTTL > 0
	c.AllowRollup = c.AllowRollup || c.AllowMsgSchedules || c.SubjectDeleteMarkerTTL > 0
	if c.Duplicates == 0 && c.Mirror == nil && len(c.Sources) == 0 {
		c.Duplicates = 2 * time.Minute
		if c.MaxAge != 0 {
			c.Duplicates = min(c.Duplicates, c.MaxAge)
		}
	}
	return c
}

// settings are a configuration as the server writes it, setting by setting.
func settings(c jetstream.StreamConfig) (map[string]json.RawMessage, error) {
	c.Subjects = slices.Sorted(slices.Values(c.Subjects))
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // it is shown to people
	if err := enc.Encode(c); err != nil {
		return nil, fmt.Errorf("streams: settings of %s: %w", c.Name, err)
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b.Bytes(), &m); err != nil {
		return nil, fmt.Errorf("streams: settings of %s: %w", c.Name, err)
	}
	return m, nil
}

func merged(a, b map[string]json.RawMessage) map[string]json.RawMessage {
	m := maps.Clone(a)
	maps.Copy(m, b)
	return m
}

// show writes a setting for people.
func show(name string, v json.RawMessage) string {
	if v == nil {
		return "absent"
	}
	switch name {
	case "max_age", "duplicate_window", "subject_delete_marker_ttl":
		var d time.Duration
		if json.Unmarshal(v, &d) == nil {
			return d.String()
		}
	}
	return string(v)
}
