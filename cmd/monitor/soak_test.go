//go:build integration

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/isowatch/isowatch/internal/testkafka"
	"github.com/isowatch/isowatch/internal/workload"
)

const (
	// soakEnv is how long the soak lasts, soakRateEnv how many transactions a second
	// are published.
	soakEnv     = "ISOWATCH_SOAK"
	soakRateEnv = "ISOWATCH_SOAK_RATE"

	soakRate = 30_000
	soakBeat = 10 * time.Millisecond
	// soakInterval of event time between two transactions of a source: a window of
	// 60 s holds 60,000 of them.
	soakInterval = time.Millisecond
	// soakPlant transactions of a source lie between two anomalies. Findings stay
	// for ever, so that they must be few beside what is to be flat.
	soakPlant = 20_000
	// soakTail transactions follow the last anomaly: their 15 s of event time carry the
	// watermark past it.
	soakTail = 15_000
	// soakForgets is below what a source's filter of retired values holds, 64 MiB: from there
	// on a garbage read may be told as one that nobody can attribute.
	soakForgets = 8_000_000
	// soakPartitions of soakRetained bytes each: at 30,000 a second some two
	// minutes. A reader that lags further loses records, and the soak fails.
	soakPartitions = 4
	soakRetained   = 192 << 20
	// The monitor is killed 3 to 8 s after it has recovered, one time in five while it
	// does, the broker after 15 to 25 s.
	soakLife, soakLifeMore     = 3 * time.Second, 5 * time.Second
	soakBroker, soakBrokerMore = 15 * time.Second, 10 * time.Second
)

// TestSoak publishes at a steady rate to a topic that is limited in bytes, while
// the monitor and the broker are killed every few seconds. Every planted anomaly is
// found once and nothing else, no record is lost or counted twice, and what the
// monitor takes of memory, disk, goroutines and descriptors does not grow.
func TestSoak(t *testing.T) {
	text := os.Getenv(soakEnv)
	if text == "" {
		t.Skipf("make soak, which .ci/run does, sets %s to how long it lasts", soakEnv)
	}
	lasts, err := time.ParseDuration(text)
	if err != nil || lasts < 30*time.Second {
		t.Fatalf("%s is %q, want a duration from 30s", soakEnv, text)
	}
	rate, seed := numberFrom(t, soakRateEnv, soakRate), numberFrom(t, seedEnv, 1)
	t.Logf("%s=%v %s=%d %s=%d", soakEnv, lasts, soakRateEnv, rate, seedEnv, seed)
	rng := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), 300+n)) }

	broker := testkafka.ForTest(t, testkafka.Config{})
	if err := broker.CreateTopic(t.Context(), "soak", soakPartitions, map[string]string{
		"retention.bytes": fmt.Sprint(soakRetained), "segment.bytes": fmt.Sprint(16 << 20),
	}); err != nil {
		t.Fatal(err)
	}
	records := &traffic{rng: rng(0), plant: soakPlant, forgets: soakForgets}
	for i := range 2 {
		records.feed(t, uint64(seed), i, workload.Config{
			Kind: workload.Registers, Count: int(lasts.Seconds())*rate/2/soakPlant*soakPlant + soakTail, Sessions: 16, Keys: 1000,
			Aborted: 0.02, Unknown: 0.001, Interval: soakInterval, PlantEvery: soakPlant,
		})
	}
	program, dir := buildMonitor(t), t.TempDir()
	m := newLives(program, filepath.Join(dir, "data"), "--kafka", broker.Addr(), "--topic", "soak", "--key-cap", "5000")

	published := make(chan error, 1)
	var done atomic.Bool
	go func() {
		published <- publishSteadily(t.Context(), broker.Addr(), records, rng(1), rate)
		done.Store(true)
	}()
	brokerKills := make(chan int, 1)
	go func() { brokerKills <- killBroker(t, broker, rng(2), &done) }()

	taken := &samples{began: time.Now()}
	lives, random := 0, rng(3)
	for ; !done.Load(); lives++ {
		m.start(t)
		if random.IntN(5) == 0 {
			time.Sleep(time.Duration(random.Int64N(int64(soakLife))))
			m.kill(t)
			continue
		}
		m.awaitListening(t)
		until := time.Now().Add(soakLife + time.Duration(random.Int64N(int64(soakLifeMore))))
		for time.Now().Before(until) && !done.Load() {
			time.Sleep(500 * time.Millisecond)
			taken.add(t, m)
		}
		m.kill(t)
	}
	m.start(t)
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	kills := <-brokerKills
	m.awaitAll(t, records.published)
	findings := m.findings(t)
	m.terminate(t)
	comparePrinted(t, m, findings)
	records.compare(t, findings)
	t.Logf("%d transactions in %v, %d findings, monitor killed %d times, broker %d times",
		records.published, time.Since(taken.began).Round(time.Second), len(findings), lives, kills)
	taken.judge(t, lasts)
	if t.Failed() {
		log := m.logText()
		t.Logf("end of the log:\n%s", log[max(0, len(log)-8<<10):])
	}
}

// killBroker kills the broker and starts it again until done.
func killBroker(t *testing.T, b *testkafka.Broker, rng *rand.Rand, done *atomic.Bool) (kills int) {
	next := func() time.Time {
		return time.Now().Add(soakBroker + time.Duration(rng.Int64N(int64(soakBrokerMore))))
	}
	for at := next(); !done.Load(); time.Sleep(100 * time.Millisecond) {
		if time.Now().Before(at) {
			continue
		}
		b.Kill()
		kills++
		if err := b.Start(context.Background()); err != nil {
			t.Error(err)
			return kills
		}
		at = next()
	}
	return kills
}

// publishSteadily publishes all records at a rate. What an absent broker held up is
// made good as fast as it goes.
func publishSteadily(ctx context.Context, addr string, records *traffic, rng *rand.Rand, rate int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.MetadataMinAge(100*time.Millisecond), kgo.DialTimeout(2*time.Second))
	if err != nil {
		return err
	}
	defer client.Close()
	beat := time.NewTicker(soakBeat)
	defer beat.Stop()
	began, sent := time.Now(), 0
	most := rate / 10 // a batch of 100 ms
	for {
		<-beat.C
		n := min(int(time.Since(began).Seconds()*float64(rate))-sent, most)
		if n <= 0 {
			continue
		}
		lines := records.next(n)
		if len(lines) == 0 {
			return nil
		}
		sent += len(lines)
		var batch []*kgo.Record
		for _, m := range messages(rng, lines) {
			batch = append(batch, &kgo.Record{Topic: "soak", Partition: rng.Int32N(soakPartitions), Value: m})
		}
		if err := client.ProduceSync(ctx, batch...).FirstErr(); err != nil {
			return errors.Join(errors.New("publish"), err)
		}
	}
}
