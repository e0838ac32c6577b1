package app

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/group/drive"
)

// TestGroupEndsQuietly: what the end of a member cuts off is no warning: a look at the settings of others, the lease that it has left.
func TestGroupEndsQuietly(t *testing.T) {
	t.Parallel()
	g := lonelyGroup(t, "a", t.TempDir())
	var log lockedBuffer
	g.log = slog.New(slog.NewTextHandler(&log, nil))
	if _, err := g.store.Create(t.Context(), settingsKey, []byte("of others")); err != nil {
		t.Fatal(err)
	}
	ending, cancel := context.WithTimeout(t.Context(), g.config.Group.Lease/20)
	defer cancel()
	if err := g.agree(ending); err == nil {
		t.Fatal("it agrees with others")
	}
	g.member = drive.Start(drive.Options{ID: "a", Lease: g.config.Group.Lease, Store: g.store, Heed: g.heed})
	defer g.member.Stop()
	eventually(t, "the lease", func() bool { return g.member.Left() > 0 })
	g.member.Leave()
	eventually(t, "the end of the lease", func() bool { return g.member.HasLeft() })
	for range 5 {
		g.lookAtLease()
		time.Sleep(time.Millisecond)
	}
	if text := log.String(); strings.Contains(text, "level=WARN") || strings.Contains(text, "level=ERROR") {
		t.Errorf("the end is told as a fault:\n%s", text)
	}
}
