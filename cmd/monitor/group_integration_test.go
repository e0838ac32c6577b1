//go:build integration

package main

import (
	"testing"

	"github.com/isowatch/isowatch/internal/testkafka"
)

func init() {
	realKafka = func(t *testing.T, partitions int, topics ...string) string {
		t.Helper()
		broker := testkafka.ForTest(t, testkafka.Config{Heap: "128m"})
		for _, topic := range topics {
			if err := broker.CreateTopic(t.Context(), topic, partitions, nil); err != nil {
				t.Fatal(err)
			}
		}
		return broker.Addr()
	}
}
