package doctor_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/botmesh-go/botmesh/internal/doctor"
	"github.com/botmesh-go/botmesh/streams"
)

// The journal of another bot that nobody asks for records is told of once it has one.
func TestAnotherBotThatNobodyRuns(t *testing.T) {
	t.Parallel()
	p := healthy(t)
	other := jetstream.StreamConfig{Name: "BOT_shop_INBOX", Subjects: []string{"bot.in.shop.>"}}
	if _, err := streams.Apply(t.Context(), p.JetStream, []jetstream.StreamConfig{other}); err != nil {
		t.Fatal(err)
	}
	const words = "bot shop has"
	for _, f := range doctor.Examine(t.Context(), p.Config) {
		if strings.Contains(f.Text, words) {
			t.Errorf("without a record: got %v, want nothing of it", f)
		}
	}
	if _, err := p.JetStream.Publish(t.Context(), "bot.in.shop.telegram.1", nil); err != nil {
		t.Fatal(err)
	}
	finding(t, doctor.Examine(t.Context(), p.Config), "records", doctor.Warning, words)
	p.Inbox = other.Name
	p.pull(lease)
	p.Inbox = "BOT_demo_INBOX"
	for _, f := range doctor.Examine(t.Context(), p.Config) {
		if strings.Contains(f.Text, words) {
			t.Errorf("with somebody who asks: got %v, want nothing of it", f)
		}
	}
}
