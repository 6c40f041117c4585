package httpcall

import (
	"net/netip"
	"testing"
)

// SPEC: X2
func TestGuard(t *testing.T) {
	t.Parallel()
	for address, public := range map[string]bool{
		"93.184.215.14": true, "2606:2800:21f:cb07:6820:80da:af6b:8b2c": true, "::ffff:93.184.215.14": true,
		"127.0.0.1": false, "::1": false, "10.1.2.3": false, "172.31.255.1": false, "192.168.0.1": false, "169.254.169.254": false, "100.64.0.1": false,
		"0.0.0.0": false, "0.1.2.3": false, "::": false, "255.255.255.255": false, "240.0.0.1": false, "224.0.0.1": false, "ff02::1": false, "fe80::1": false, "fe80::1%eth0": false,
		"fd00::1": false, "fec0::1": false, "::ffff:10.0.0.1": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false, "2001::1": false, "198.18.0.1": false,
	} {
		err := guard("tcp", netip.AddrPortFrom(netip.MustParseAddr(address), 443).String(), nil)
		if (err == nil) != public {
			t.Errorf("%s: got %v, want it public: %v", address, err, public)
		}
	}
	if err := guard("unix", "/run/x.sock", nil); err == nil {
		t.Error("got no error for what is no address, want one")
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://slack.com/x": true, "https://files.SLACK.com:443/x": true, "https://slack.com.example/": false, "https://notslack.com/": false,
		"http://files.slack.com/": false, "https://u@files.slack.com/": false, "https://example/slack.com": false, "": false, "https://h\x7f": false,
	} {
		if got := Within(address, "slack.com"); got != want {
			t.Errorf("%q: got %v, want %v", address, got, want)
		}
	}
}
