//go:build integration

package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/isowatch/isowatch/finding"
	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/testkafka"
)

// A service reads two partitions of a real broker, over TLS and with a login; a
// late record makes a horizon finding, and the replay of its range from the same
// topic closes it.
func TestReplayRealKafka(t *testing.T) {
	b := testkafka.ForTest(t, testkafka.Config{Heap: "128m"})
	if err := b.CreateTopic(t.Context(), "events", 2, nil); err != nil {
		t.Fatal(err)
	}
	k, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	put := func(partition int32, lines ...string) {
		t.Helper()
		r := &kgo.Record{Topic: "events", Partition: partition, Value: []byte(strings.Join(lines, "\n"))}
		if err := k.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	s := liveService(t)
	// The finding is final when its pane, of the wall clock by then, is over.
	s.Watch.Idle, s.Watch.Lateness, s.Watch.MaxTransaction = time.Second, time.Second, time.Second
	secret := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(secret, []byte(testkafka.Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	kafka := &config.Kafka{
		Brokers: []string{b.SecureAddr()}, Topics: []string{"events"}, CAFile: b.CAFile(),
		Mechanism: "SCRAM-SHA-512", User: testkafka.User, PasswordFile: secret,
	}
	s.Inputs = []config.Input{{Kafka: kafka}}
	sink := make(caught, 10)
	a := start(t, s, sink)
	skew := skewApart()
	put(0, skew[0], skew[1])
	put(1, skew[2])
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		sources := a.Status().Sources
		if len(sources) == 1 && sources[0].Counters.Committed == 3 && sources[0].Live == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", sources)
		}
	}
	put(1, skew[3])
	f := sink.next(t)
	if f.Kind != finding.KindHorizon {
		t.Fatalf("finding %+v", f)
	}
	f = storedFinding(t, s.Data, f.ID, finding.Final)
	r := replayOf()
	r.Kafka = kafka
	r.Finding, r.Txns, r.Data = f.ID, f.Txns, s.Data
	r.From, r.To = bound(t, flagOf(f.Command, "--from")), bound(t, flagOf(f.Command, "--to"))
	for _, flag := range []string{"--kafka", "--topic", "--kafka-ca-file"} {
		if flagOf(f.Command, flag) == "" {
			t.Errorf("%s is missing in %s", flag, f.Command)
		}
	}
	if strings.Contains(f.Command, testkafka.Password) || strings.Contains(f.Command, testkafka.User) {
		t.Errorf("a login is in %s", f.Command)
	}
	got := replayed(t, r)
	if got.Closed == nil || got.Closed.State != finding.ResolvedViolated || got.Read != 4 {
		t.Fatalf("%d records, closed %+v, undecided %q", got.Read, got.Closed, got.Undecided)
	}
	if err := CloseFinding(t.Context(), &r, got.Closed); err != nil {
		t.Fatal(err)
	}
	storedFinding(t, s.Data, f.ID, finding.ResolvedViolated)
}
