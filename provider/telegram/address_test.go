package telegram

import "testing"

func TestAddressRoundTrip(t *testing.T) {
	t.Parallel()
	for _, a := range []address{
		{chat: 5}, {chat: -1001234567890}, {chat: 9007199254740993}, {chat: -5, topic: 7},
		{chat: 5, business: "conn"}, {chat: 5, business: "a:b/c"},
	} {
		if got, err := parseAddress(a.String()); err != nil || got != a {
			t.Errorf("%q: got %+v, %v, want %+v", a, got, err, a)
		}
	}
	for _, s := range []string{"", "-", "x", "0", "5/", "5/x", "5/0", "5/6/7", "biz:", "biz::5", "biz:c", "biz:c:5/6", "1e3"} {
		if got, err := parseAddress(s); err == nil {
			t.Errorf("%q: got %+v, want an error", s, got)
		}
	}
}
