package provider_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/botmesh-go/botmesh/provider"
)

// SPEC: X2
func TestDecodeJSON(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for name, c := range map[string]struct{ body, want string }{
		"Deepest":   {nested(provider.MaxDepth), ""},
		"TooDeep":   {nested(provider.MaxDepth + 1), "deeper than 64 at byte 320"},
		"Wide":      {`{"a":[` + strings.Repeat("[],", 1000) + `[]]}`, ""},
		"String":    {`{"a":"[[\"{\\"}`, ""},
		"Empty":     {"", "empty"},
		"Text":      {`"{}"`, "not a JSON object"},
		"Null":      {"null", "not a JSON object"},
		"Unclosed":  {`{"a":1`, "broken JSON at byte 6"},
		"Backslash": {`{"a":"\`, "broken JSON"},
		"Overclose": {`{}}`, "broken JSON at byte 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var v map[string]any
			err := provider.DecodeJSON([]byte(c.body), &v)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	var v struct{ A, B int }
	var misfit *json.UnmarshalTypeError
	if err := provider.DecodeJSON([]byte(`{"a":"x","b":2}`), &v); !errors.As(err, &misfit) || v.B != 2 {
		t.Errorf("got %+v, %v, want what fits and a type error", v, err)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	for name, c := range map[string]struct {
		err                         error
		permanent, retried, unknown bool
	}{
		"None":      {nil, false, false, false},
		"Plain":     {cause, false, false, true},
		"Retry":     {provider.Retry(cause, 5), false, true, false},
		"Permanent": {provider.Permanent(cause), true, false, false},
	} {
		after, retried := provider.RetryAfter(c.err)
		if provider.IsPermanent(c.err) != c.permanent || retried != c.retried || provider.InDoubt(c.err) != c.unknown {
			t.Errorf("%s: got permanent %v, retry %v, in doubt %v, want %v, %v, %v", name,
				provider.IsPermanent(c.err), retried, provider.InDoubt(c.err), c.permanent, c.retried, c.unknown)
		}
		if retried && after != 5 {
			t.Errorf("%s: got a delay of %v, want 5ns", name, after)
		}
		if c.err != nil && !errors.Is(c.err, cause) {
			t.Errorf("%s: got %v, want it to wrap its cause", name, c.err)
		}
	}
}
