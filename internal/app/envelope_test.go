package app

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/window"
)

// sent is a message as a producer of CloudEvents or of Protobuf sends it.
type sent struct {
	headers map[string]string // prefix- stands for ce_ of Kafka and ce- of NATS
	value   []byte
}

// asSent is the records of skewApart, each in another form, and a message of two
// records in Protobuf.
func asSent(t *testing.T) []sent {
	t.Helper()
	var d event.Decoder
	var b event.Batch
	var proto [][]byte
	lines := append(skewApart(), ran("N2", 3700, 3701, `{"op":"r","key":"n","found":false}`), ran("N3", 3701, 3702, ""))
	for i, line := range lines {
		d.DecodeMessage(&b, event.Position{}, []byte(line))
		r := b.Record(&b.Txns[i])
		proto = append(proto, event.AppendProto(nil, &r))
	}
	attributes := func(content string) map[string]string {
		return map[string]string{"prefix-specversion": "1.0", "prefix-type": "io.isowatch.transaction", "prefix-source": "/checkout", "prefix-id": "1", "content-type": content}
	}
	structured := func(data string) []byte {
		return fmt.Appendf(nil, `{"specversion":"1.0","id":"1","source":"/checkout","type":"io.isowatch.transaction",%s}`, data)
	}
	return []sent{
		{attributes("application/json"), []byte(lines[0])},
		{attributes("application/protobuf"), proto[1]},
		{map[string]string{"content-type": "application/cloudevents+json"}, structured(`"data":` + lines[2])},
		{nil, structured(`"data_base64":"` + base64.StdEncoding.EncodeToString(proto[3]) + `"`)},
		{map[string]string{"content-type": "application/x-protobuf"}, append(proto[4], proto[5]...)},
	}
}

// Records in CloudEvents, structured and binary, and in Protobuf arrive as what they
// are from both brokers. The headers need not be right, nor there.
func TestFormsOfBrokers(t *testing.T) {
	addrs, client := kafkaTopic(t, 1)
	url, js := natsStream(t)
	named := func(name, prefix string) string {
		if rest, ok := strings.CutPrefix(name, "prefix-"); ok {
			return prefix + rest
		}
		return name
	}
	for _, m := range asSent(t) {
		record, message := &kgo.Record{Topic: "t", Value: m.value}, nats.NewMsg("s.a")
		message.Data = m.value
		for name, value := range m.headers {
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: named(name, "ce_"), Value: []byte(value)})
			message.Header.Set(named(name, "ce-"), value)
		}
		if err := client.ProduceSync(t.Context(), record).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if _, err := js.PublishMsg(t.Context(), message); err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(*config.Replay){
		"kafka": func(r *config.Replay) {
			r.Kafka = &config.Kafka{Brokers: addrs, Topics: []string{"t"}}
		},
		"nats": func(r *config.Replay) { r.NATS = &config.NATS{URLs: []string{url}, Stream: "S"} },
	} {
		r := replayOf()
		change(&r)
		got := replayed(t, r)
		if got.Transactions != 6 || got.Counters.DeadLetters != 0 || got.Outcome() != window.Violated {
			t.Errorf("%s: %d transactions, %d dead letters, %s", name, got.Transactions, got.Counters.DeadLetters, got.Outcome())
		}
		if len(got.Findings) != 1 || got.Findings[0].Source != "default" || got.Findings[0].Anomaly != "G2-item" {
			t.Errorf("%s: findings %+v", name, got.Findings)
		}
	}
}
