package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestSecretsNeverPrint(t *testing.T) {
	t.Parallel()
	const hidden = "hunter2"
	values := struct {
		S Secret
		U URL
		p Secret
	}{NewSecret(hidden), NewURL("nats://u:" + hidden + "@h:1,nats://" + hidden + "@i?password=" + hidden), NewSecret(hidden)}

	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+"\n", values.S)
		fmt.Fprintf(&out, verb+"\n", values.U)
		fmt.Fprintf(&out, verb+"\n", values)
	}
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "s", values.S, "u", values.U, "all", values)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "s", values.S, "u", values.U, "all", values)
	for _, marshal := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal} {
		b, err := marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(b)
	}
	if got := out.String(); strings.Contains(got, hidden) || strings.Contains(got, fmt.Sprintf("%x", hidden)) {
		t.Errorf("the secret was printed:\n%s", got)
	}
	if got, want := values.U.String(), "nats://***@h:1,nats://***@i?password=***"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := values.p.Reveal(); got != hidden {
		t.Errorf("got %q, want the secret", got)
	}
	for _, v := range []any{values.S, values.U} {
		if got := slog.AnyValue(v).Resolve().Kind(); got != slog.KindString {
			t.Errorf("%T to a log handler: got %v, want a string", v, got)
		}
	}
	if got := (Secret{}).String(); got != "" {
		t.Errorf("no secret: got %q, want nothing", got)
	}
}
