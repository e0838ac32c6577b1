package whole

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/isowatch/isowatch/internal/config"
)

// manyFiles writes n histories of which every third is violated, every fifth has bad
// records, and every seventh is missing.
func manyFiles(t *testing.T, n int) []string {
	t.Helper()
	dir := t.TempDir()
	var names []string
	for i := range n {
		name := filepath.Join(dir, fmt.Sprintf("%d.jsonl", i))
		names = append(names, name)
		text := fmt.Sprintf(`{"txn":"a%d","status":"committed","ops":[{"op":"r","key":"x","found":false},{"op":"w","key":"x","value":1}]}`+"\n", i)
		if i%3 == 0 {
			text += `{"txn":"b","status":"committed","ops":[{"op":"r","key":"x","found":false},{"op":"w","key":"x","value":2}]}` + "\n"
		}
		if i%5 == 0 {
			for range MaxDeadLetters + 3 {
				text += "{}\n"
			}
		}
		if i%7 == 0 {
			continue
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// TestCheckFiles: many files give the answers that each gives alone, in their order.
func TestCheckFiles(t *testing.T) {
	w := Whole{Watch: config.DefaultWatch(config.WholeContract())}
	names := manyFiles(t, 150)
	var told []string
	err := w.CheckFiles(names, func(a *Answer) error {
		i := len(told)
		told = append(told, a.File)
		if missing := i%7 == 0; missing != (a.Err != nil) || missing == (a.Report != nil) {
			t.Fatalf("%s: %v, report %v", a.File, a.Err, a.Report)
		}
		if a.Err != nil {
			return nil
		}
		alone, err := w.CheckFile(a.File)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(a.Report)
		want, _ := json.Marshal(alone)
		if string(got) != string(want) {
			t.Errorf("%s: %s, alone %s", a.File, got, want)
		}
		if i%5 == 0 && (len(a.DeadLetters) != MaxDeadLetters || a.NumDead != MaxDeadLetters+3) {
			t.Errorf("%s: %d dead letters of %d", a.File, len(a.DeadLetters), a.NumDead)
		}
		return nil
	})
	if err != nil || !slices.Equal(told, names) {
		t.Errorf("%v, told of %v", err, told)
	}
}

// TestCheckFilesEnds: who is told can end it.
func TestCheckFilesEnds(t *testing.T) {
	w := Whole{Watch: config.DefaultWatch(config.WholeContract())}
	enough := errors.New("enough")
	n := 0
	err := w.CheckFiles(manyFiles(t, 150), func(*Answer) error {
		if n++; n == 3 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || n != 3 {
		t.Errorf("%v after %d files", err, n)
	}
}

// TestBerths: files of so many bytes are under way together, and a larger one alone.
func TestBerths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBerths(3, 100)
		under := map[string]bool{}
		begin := func(name string, size int64) {
			go func() {
				r.enter(size)
				under[name] = true
			}()
			synctest.Wait()
		}
		want := func(names ...string) {
			t.Helper()
			for _, name := range names {
				if !under[name] {
					t.Errorf("%s waits, %v are under way", name, under)
				}
			}
			if len(under) != len(names) {
				t.Errorf("%v are under way, want %v", under, names)
			}
		}
		end := func(name string, size int64) {
			delete(under, name)
			r.leave(size)
			synctest.Wait()
		}
		begin("a", 60)
		begin("b", 40)
		begin("c", 1) // too many bytes
		want("a", "b")
		end("a", 60)
		want("b", "c")
		begin("large", 1000)
		want("b", "c")
		end("b", 40)
		want("c")
		end("c", 1)
		want("large")
		begin("d", 0)
		want("large")
		end("large", 1000)
		want("d")
		begin("e", 1)
		begin("f", 1)
		begin("g", 1) // too many files
		want("d", "e", "f")
		end("d", 0)
		want("e", "f", "g")
		end("e", 1)
		end("f", 1)
		end("g", 1)
	})
}

// TestCheckFilesPanics: a panic beside comes to the caller, who can recover it.
func TestCheckFilesPanics(t *testing.T) {
	defer func() {
		if fault := fmt.Sprint(recover()); !strings.Contains(fault, "a slip") || !strings.Contains(fault, "files_test.go") {
			t.Errorf("recovered %s", fault)
		}
	}()
	w := Whole{Watch: config.DefaultWatch(config.WholeContract()), Tell: func(int) { panic("a slip") }}
	t.Error(w.CheckFiles(manyFiles(t, 8), func(*Answer) error { return nil }), "no panic")
}
