package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/store"
)

// A store that a later version wrote is refused, by the service and by what reads findings. The text says
// which version is needed. The layout of the engine's records may be the newer one, or that of snapshots.
func TestDowngradeIsRefused(t *testing.T) {
	for want, change := range map[string]func(st *store.Store) error{
		"layout 6, this program reads 5": func(st *store.Store) error {
			return st.Commit([]store.Entry{{Space: 'h', Key: []byte("head"), Value: []byte(`{"step":3,"version":6}`)}})
		},
		"snapshot of layout 99, this program reads": func(st *store.Store) error {
			return changeSnapshot(st, func([]byte) []byte {
				w := flat.NewWriter(nil)
				flat.Append(w, "layout", []byte(`{"layout":99}`))
				return w.Bytes()
			})
		},
		`field "counters.ofMore" is not known`: func(st *store.Store) error {
			return changeSnapshot(st, func(state []byte) []byte {
				return bytes.Replace(state, []byte("counters.ofRows "), []byte("counters.ofMore "), 1)
			})
		},
		`"another" comes where`: func(st *store.Store) error {
			return changeSnapshot(st, func(state []byte) []byte {
				return bytes.Replace(state, []byte("\x07misfits"), []byte("\x07another"), 1)
			})
		},
	} {
		t.Run(want, func(t *testing.T) {
			s := liveService(t)
			a := start(t, s)
			send(t, a, skewOne, skewTwo)
			waitFor(t, "the records", func() bool { return a.Status().Records >= 2 })
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if err := a.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(s.Data, storeFolder)
			note := filepath.Join(dir, writerFile)
			if text, err := os.ReadFile(note); err != nil || !strings.Contains(string(text), `"version":`) {
				t.Fatalf("the program is not noted: %s, %v", text, err)
			}
			if err := os.WriteFile(note, []byte(`{"version":"v9.9.0","revision":"abc","more":1}`), 0o600); err != nil {
				t.Fatal(err)
			}
			st, err := store.Open(dir, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(change(st), st.Close()); err != nil {
				t.Fatal(err)
			}
			again, err := New(Options{Config: s})
			if err == nil {
				err = again.Start(t.Context())
			}
			check(t, "run", err, want)
			if strings.HasPrefix(want, "layout") {
				check(t, "findings", ReadStored(t.Context(), s.Data, Findings, func([]byte) error { return nil }), want)
			}
		})
	}
}

// changeSnapshot replaces the state of the one source in st.
func changeSnapshot(st *store.Store, change func(state []byte) []byte) error {
	gen, text, chunks, err := st.LoadSnapshot()
	if err != nil {
		return err
	}
	var state []byte
	for chunk, err := range chunks {
		if err != nil {
			return err
		}
		state = append(state, chunk...)
	}
	state = change(state)
	var meta map[string]any
	if err := json.Unmarshal(text, &meta); err != nil {
		return err
	}
	meta["sources"].([]any)[0].(map[string]any)["bytes"] = len(state)
	text, err = json.Marshal(meta)
	return errors.Join(err, st.WriteSnapshot(gen+1, slices.Values([][]byte{state})), st.FlipSnapshot(gen+1, text))
}

func check(t *testing.T, who string, err error, want string) {
	t.Helper()
	if !errors.Is(err, ErrStore) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "\nmonitor v9.9.0 (revision abc) wrote ") ||
		!strings.Contains(err.Error(), "Run that build or a later one, or name another folder with --data.") || strings.Contains(err.Error(), "away") {
		t.Errorf("%s: %v, want %q and the version that is needed", who, err, want)
	}
}

// Where releases were skipped, the text names the one to begin with.
func TestSkippedReleases(t *testing.T) {
	a := &App{config: config.Service{Data: t.TempDir()}}
	older := fmt.Errorf("%w: %w", store.ErrFormat, store.ErrOlder)
	if got := a.remedy(older); !strings.Contains(got, "the next release behind the version that wrote it, over ") {
		t.Errorf("%q", got)
	}
	dir := a.path(storeFolder)
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, writerFile), []byte(`{"version":"v0.3.0","revision":"abc"}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := a.remedy(older); !strings.Contains(got, "Start the next release behind monitor v0.3.0 (revision abc), which wrote it, over "+dir) || strings.Contains(got, "or a later version") {
		t.Errorf("%q", got)
	}
}

// A folder without the note is one of a release before. Builds of one version may differ.
func TestWriterIsUnknown(t *testing.T) {
	a := &App{config: config.Service{Data: t.TempDir()}}
	if got := a.remedy(store.ErrFormat); !strings.Contains(got, "\nAnother build than this one (") {
		t.Errorf("%q", got)
	}
	dir := a.path(storeFolder)
	if err := errors.Join(os.MkdirAll(dir, 0o700), noteWriter(dir)); err != nil {
		t.Fatal(err)
	}
	if got := a.remedy(store.ErrFormat); !strings.Contains(got, "which has the same version as this one") {
		t.Errorf("%q", got)
	}
}

// What no checksum finds may be of another build: only that one can tell that the folder is damaged.
func TestOtherBuildBeforeDamage(t *testing.T) {
	a := &App{config: config.Service{Data: t.TempDir()}}
	dir := a.path(storeFolder)
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, writerFile), []byte(`{"version":"v9.9.0","revision":"abc"}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := a.remedy(io.EOF); !strings.Contains(got, "\nmonitor v9.9.0 (revision abc) wrote ") || !strings.Contains(got, "Run that build. If it does not start either, the folder is damaged. Move ") {
		t.Errorf("%q", got)
	}
	if got := a.remedy(store.ErrDamaged); !strings.HasPrefix(got, "\nThe folder may be damaged. Move ") {
		t.Errorf("%q", got)
	}
}
