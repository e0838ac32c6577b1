package whole

import (
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
	"github.com/isowatch/isowatch/window"
)

func levels(t *testing.T, names string) []isolation.Level {
	t.Helper()
	ls, err := isolation.ParseLevels(names)
	if err != nil {
		t.Fatal(err)
	}
	return ls
}

func TestCheckedLevels(t *testing.T) {
	all := strings.Join(isolation.LevelNames(isolation.Watched()), ",")
	for _, c := range []struct{ asked, want string }{
		{"serializable", "serializable"},
		{"snapshot-isolation,serializable", "snapshot-isolation,serializable"},
		{"causal", "causal"},
		{"linearizable", "linearizable," + all},
		{"strong-session-serializable,linearizable", "strong-session-serializable,linearizable,serializable,snapshot-isolation,strong-session-snapshot-isolation"},
	} {
		asked := levels(t, c.asked)
		if got := strings.Join(isolation.LevelNames(checked(asked, false)), ","); got != c.want {
			t.Errorf("checked(%s) = %s, want %s", c.asked, got, c.want)
		}
		if strings.Join(isolation.LevelNames(asked), ",") != c.asked {
			t.Errorf("checked(%s) changed its argument", c.asked)
		}
	}
}

func TestMachineConfig(t *testing.T) {
	w := config.DefaultWatch(config.LiveContract())
	w.Levels = levels(t, "snapshot-isolation")
	w.Window = config.Window{Duration: time.Hour, Txns: 77}
	w.Lateness = 0
	got := MachineConfig(&w).WithDefaults()
	if got.Window != window.For(time.Hour) || got.WindowTxns != 77 || got.Lateness != window.For(0) {
		t.Errorf("window %+v, %d txns, lateness %+v", got.Window, got.WindowTxns, got.Lateness)
	}
	if names := strings.Join(isolation.LevelNames(got.Levels), ","); names != "snapshot-isolation,serializable" {
		t.Errorf("levels %s: the expected one needs a verdict too", names)
	}
	want := window.Contract{Existing: true, UnmonitoredWriters: true, DeletesUnseen: true, Observed: true, ClockDrift: 100 * time.Millisecond}
	if got.Contract != want || !got.Clamp || got.Unbounded {
		t.Errorf("contract %+v, clamp %v, unbounded %v", got.Contract, got.Clamp, got.Unbounded)
	}
}

// TestContractText: the log tells a contract as the configuration does.
func TestContractText(t *testing.T) {
	for _, said := range []string{
		"", "capture=complete,start=empty,unmonitored-writers=no,deletes=unseen,clock-drift=2s",
		"value-identity=version,version-order=numeric,trust-commit-ts=true", "sequential-keys=true,linearizable-keys=true",
	} {
		c := config.LiveContract()
		if said != "" {
			if err := c.Set(said); err != nil {
				t.Fatal(err)
			}
		}
		want := strings.Replace(c.String(), "wfr-keys=true,", "", 1) // it is always true
		if got := machineContract(c).String(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
