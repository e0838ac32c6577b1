package app

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/config"
)

// A member with many units, or with little memory for each, has a smaller table for each.
func TestTableOf(t *testing.T) {
	for _, memory := range []int64{0, 512 * mib, 8 << 30} {
		few, many := tableOf(divide(memory).memTable, memory, 2), tableOf(divide(memory).memTable, memory, 100)
		if few != divide(memory).memTable || many != smallTable {
			t.Errorf("with %d bytes of memory: tables of %d for 2 units, and %d for 100", memory, few, many)
		}
	}
	if table, step := tableOf(16*mib, 384*mib, 3), stepOf(384*mib, 3); table != smallTable || step != smallStep {
		t.Errorf("tables of %d, and steps of %d, for three units that have 128 MiB each", table, step)
	}
	if few, any := stepOf(1024*mib, 3), stepOf(0, 3); few != 0 || any != 0 {
		t.Errorf("steps of %d and %d, where there is much memory", few, any)
	}
}

// A monitor that is no member of a group says that it does not heed the units of an input.
func TestUnitOutsideOfAGroup(t *testing.T) {
	for unit, want := range map[string]bool{config.UnitPartition: true, "": false} {
		var log strings.Builder
		c := config.Service{Inputs: []config.Input{{Kafka: &config.Kafka{Topics: []string{"orders"}, Unit: unit}}}}
		a := &App{config: c, log: slog.New(slog.NewTextHandler(&log, nil))}
		if err := a.tellIgnored(t.Context()); err != nil {
			t.Fatal(err)
		}
		if said := strings.Count(log.String(), "topics=orders") == 1; said != want {
			t.Errorf("unit %q: the log has %q", unit, log.String())
		}
	}
}
