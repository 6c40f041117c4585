package journal

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/jet"
)

func benchRecord() botmesh.Record {
	r := message(chat("-100123"), "123456789", "hello, I would like to order two pizzas")
	r.User = "55"
	r.Raw = json.RawMessage(`{"update_id":123456789,"message":{"message_id":1,"text":"hello, I would like to order two pizzas"}}`)
	r.Trace = map[string]string{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	return r
}

func BenchmarkEncode(b *testing.B) {
	r := benchRecord()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := encode(testBot, r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	m, err := encode(testBot, benchRecord())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if e := decode(familyIn, testBot, "e1", jet.Stored{Msg: m, Seq: 1}); e.Err != nil {
			b.Fatal(fmt.Errorf("decode: %w", e.Err))
		}
	}
}
