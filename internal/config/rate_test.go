package config

import (
	"strings"
	"testing"
	"time"
)

func TestRates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Rate{
		"off":    {},
		"30/s":   {Every: time.Second / 30, Burst: 3},
		"20/m":   {Every: 3 * time.Second, Burst: 2},
		"1/6s":   {Every: 6 * time.Second, Burst: 1},
		"1/6s+4": {Every: 6 * time.Second, Burst: 4},
		"90/1h":  {Every: 40 * time.Second, Burst: 9},
	} {
		l, err := Load(Input{Environ: []string{"BOTMESH_TELEGRAM_CHAT_RATE=" + text}})
		want.text = text
		if got := l.Config.Telegram.ChatRate; err != nil || got != want || !got.IsSet() || got.String() != text {
			t.Errorf("%s: got %+v and error %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"30", "s", "/s", "0/s", "-1/s", "30/x", "30/s+0", "30/s+x", "5000000/s", "1.5/s"} {
		_, err := Load(Input{Environ: []string{"BOTMESH_SEND_RATE=" + text}})
		if err == nil || !strings.Contains(err.Error(), "BOTMESH_SEND_RATE must be a number of calls") {
			t.Errorf("%s: got %v, want what is right", text, err)
		}
	}
	if l, err := Load(Input{}); err != nil || l.Config.SendRate.IsSet() {
		t.Errorf("got %v and error %v, want no rate", l.Config.SendRate, err)
	}
}
