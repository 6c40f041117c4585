package botmesh

import (
	"errors"
	"strings"
	"testing"
)

func TestToken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		key               ChatKey
		token, key2, text string
	}{
		{ChatKey{"telegram", "-100123", "55"}, "-100123/55", "telegram.-100123/55", "telegram/-100123/55"},
		{ChatKey{"telegram", "7", ""}, "7", "telegram.7", "telegram/7"},
		{ChatKey{"email", "a@b.c", ""}, "a=40b=2Ec", "email.a=40b=2Ec", "email/a@b.c"},
		{ChatKey{"x", "a/b", "*.>"}, "a=2Fb/=2A=2E=3E", "x.a=2Fb/=2A=2E=3E", "x/a%2Fb/%2A.%3E"},
		{ChatKey{"x", "=h", ""}, "=3Dh", "x.=3Dh", "x/=h"},
	} {
		if got := tt.key.Token(); got != tt.token {
			t.Errorf("Token of %+v: got %q, want %q", tt.key, got, tt.token)
		}
		if got := tt.key.Key(); got != tt.key2 {
			t.Errorf("Key of %+v: got %q, want %q", tt.key, got, tt.key2)
		}
		if got := tt.key.String(); got != tt.text {
			t.Errorf("String of %+v: got %q, want %q", tt.key, got, tt.text)
		}
		if got := tt.key.LogValue().String(); got != tt.text {
			t.Errorf("LogValue of %+v: got %q, want %q", tt.key, got, tt.text)
		}
		if got, err := ParseKey(tt.key2); err != nil || got != tt.key {
			t.Errorf("ParseKey(%q): got %+v, %v", tt.key2, got, err)
		}
		if got, err := ParseChatKey(tt.text); err != nil || got != tt.key {
			t.Errorf("ParseChatKey(%q): got %+v, %v", tt.text, got, err)
		}
	}
}

func TestTokenOfALongChatIsAHash(t *testing.T) {
	t.Parallel()
	k := ChatKey{Provider: "x", Chat: strings.Repeat("ñ", 26), Participant: ""}
	if k.Token() == "" || len(k.Token()) != 66 || !strings.HasPrefix(k.Token(), "=h") {
		t.Errorf("got %q, want =h and 64 hexadecimal digits", k.Token())
	}
	if _, err := ParseKey(k.Key()); !errors.Is(err, ErrHashedToken) {
		t.Errorf("got %v, want ErrHashedToken", err)
	}
}

func TestBadKeysAreRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "x", "x/", "X/1", "x/1/", "x/1/2/3", "x/%zz"} {
		if k, err := ParseChatKey(s); err == nil {
			t.Errorf("ParseChatKey(%q): got %+v, want an error", s, k)
		}
	}
	for _, s := range []string{"", "x", "x.", "x.a.b", "x.=4", "x.=zz", "x.=41", "x.a/", "x.a/b/c", "x.a b"} {
		if k, err := ParseKey(s); err == nil {
			t.Errorf("ParseKey(%q): got %+v, want an error", s, k)
		}
	}
}

// SPEC: X2. Whatever an id holds, its token stays one token and comes back.
func FuzzToken(f *testing.F) {
	f.Add("-100123", "55")
	f.Add("a.b*c>d e\x00\r\n", "/")
	f.Add("=h", "=")
	f.Fuzz(func(t *testing.T, chat, participant string) {
		if chat == "" {
			return
		}
		k := ChatKey{Provider: "telegram", Chat: chat, Participant: participant}
		token := k.Token()
		if len(token) > maxToken || strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=/") != "" {
			t.Fatalf("token %q of %+v", token, k)
		}
		back, err := ParseKey(k.Key())
		if errors.Is(err, ErrHashedToken) {
			return
		}
		if err != nil || back != k {
			t.Fatalf("%+v came back as %+v, %v", k, back, err)
		}
		if back, err := ParseChatKey(k.String()); err != nil || back != k {
			t.Fatalf("%+v came back from %q as %+v, %v", k, k.String(), back, err)
		}
	})
}
