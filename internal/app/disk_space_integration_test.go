//go:build integration && linux

package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/engine"
	"github.com/isowatch/isowatch/internal/volume"
	"github.com/isowatch/isowatch/store"
)

// A real file system fills up under the service, to the last byte, and is emptied again:
// the process lives, every record is taken in, once, and the store is sound. Needs the
// right to mount.
func TestRealDiskFull(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=900m"); err != nil {
		t.Skipf("needs the right to mount a file system of its own (root with CAP_SYS_ADMIN); TestDiskFull runs without it: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	input := filepath.Join(t.TempDir(), "in.jsonl")
	out, err := os.Create(input)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	written := 0
	write := func(count int) {
		var b bytes.Buffer
		for range count {
			fmt.Fprintf(&b, `{"txn":"T%d","status":"committed","ops":[{"op":"r","key":"x%d","found":false},{"op":"w","key":"x%d","value":"%s"}]}`+"\n",
				written, written, written, strings.Repeat("v", 500))
			written++
		}
		if _, err := out.Write(b.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	s := liveService(t)
	s.Data, s.MinFree = filepath.Join(disk, "data"), config.LeastMinFree
	s.Inputs = []config.Input{{Tail: []string{input}}}
	a := start(t, s)
	committed := func() int64 {
		var n int64
		for _, x := range a.Status().Sources {
			n += x.Counters.Committed
		}
		return n
	}
	write(1000)
	eventually(t, "the first records", func() bool { return committed() == 1000 })

	// Fill the disk into the reserve, and once that is noticed to its last byte.
	ballast := filepath.Join(disk, "ballast")
	fill(t, ballast, 128*config.MiB)
	eventually(t, "the pause", func() bool { paused, _ := a.diskSpace.state(); return paused })
	write(20_000)
	fill(t, ballast, 0)
	time.Sleep(3 * time.Second)
	if n := committed(); n > 5000 {
		t.Errorf("%d records are committed on a full disk", n)
	}
	if !strings.Contains(get(t, a, "/metrics"), "isowatch_intake_paused 1") {
		t.Error("the metrics do not say so")
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the rest", func() bool { return committed() == int64(written) })

	// Filled to its last byte at once, while records come in: nothing pauses before.
	for range 3 {
		write(20_000)
		fill(t, ballast, 0)
		time.Sleep(2 * time.Second)
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the rest", func() bool { return committed() == int64(written) })
	}

	// Full at a stop: what was read is committed from the reserve, or read again.
	fill(t, ballast, 240*config.MiB)
	eventually(t, "the pause", func() bool { paused, _ := a.diskSpace.state(); return paused })
	write(1000)
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	if err := a.Stop(ctx); err != nil && !errors.Is(err, engine.ErrNoRoom) { // then the next start reads it again
		t.Errorf("stop: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	a = start(t, s)
	eventually(t, "all records", func() bool { return committed() == int64(written) })
	for _, x := range a.Status().Sources {
		if x.Counters.Duplicates > 0 {
			t.Errorf("%d records were taken in twice", x.Counters.Duplicates)
		}
	}
	stop(t, a)
	st, err := store.Open(a.path(storeFolder), store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
}

// fill writes until there is no more room than leave, in blocks of 1 MiB; 0: none.
func fill(t *testing.T, path string, leave config.Size) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, config.MiB)
	for {
		free, err := volume.Free(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		if leave > 0 && config.Size(free) < leave+config.MiB {
			return
		}
		if _, err := f.Write(block); err != nil {
			if leave == 0 && errors.Is(err, syscall.ENOSPC) {
				return
			}
			t.Fatalf("fill: %v", err)
		}
	}
}
