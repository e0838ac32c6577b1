package store

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
)

// TestCopy: a copy with the commits behind it makes a store that holds the same, and the same snapshot.
func TestCopy(t *testing.T) {
	var log []byte
	from, err := Open(t.TempDir(), Options{Committed: func(entries []Entry) { log = AppendCommit(log, entries) }})
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	put := func(key, value string) {
		t.Helper()
		if err := from.Commit([]Entry{{Space: 'x', Key: []byte(key), Value: []byte(value)}}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1000 {
		put(fmt.Sprintf("k%d", i), "before the copy")
	}
	chunks := [][]byte{bytes.Repeat([]byte("a"), 1000), bytes.Repeat([]byte("b"), 70_000)}
	if err := from.WriteSnapshot(7, slices.Values(chunks)); err != nil {
		t.Fatal(err)
	}
	if err := from.FlipSnapshot(7, []byte("meta")); err != nil {
		t.Fatal(err)
	}
	c, err := from.Copy(func() { log = nil })
	if err != nil {
		t.Fatal(err)
	}
	put("k1", "behind the copy")
	if err := from.Commit([]Entry{{Space: 'x', Key: []byte("k2"), Delete: true}}); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := c.Write(t.Context(), &text); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	text.Write(log)
	whole := text.Bytes()

	to, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if err := to.Restore(t.Context(), bytes.NewReader(whole)); err != nil {
		t.Fatal(err)
	}
	if one, two := recordsOf(t, from), recordsOf(t, to); one != two {
		t.Errorf("restored:\n%.300s\nwant\n%.300s", two, one)
	}
	gen, meta, got, err := to.LoadSnapshot()
	if err != nil || gen != 7 || string(meta) != "meta" {
		t.Fatalf("snapshot %d, meta %q: %v", gen, meta, err)
	}
	var state []byte
	for chunk, err := range got {
		if err != nil {
			t.Fatal(err)
		}
		state = append(state, chunk...)
	}
	if want := slices.Concat(chunks...); !bytes.Equal(state, want) {
		t.Errorf("the snapshot has %d bytes, want %d", len(state), len(want))
	}
	last := map[string]string{}
	if err := EachCommitted(bytes.NewReader(whole), func(e Entry) error {
		last[string(e.Key)] = string(e.Value)
		return nil
	}); err != nil || len(last) != 1000 || last["k1"] != "behind the copy" || last["k2"] != "" {
		t.Errorf("%d keys, k1 %q, k2 %q: %v", len(last), last["k1"], last["k2"], err)
	}

	cut, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cut.Close()
	if err := cut.Restore(t.Context(), bytes.NewReader(whole[:len(whole)-1])); err == nil {
		t.Error("a copy that ends early was taken")
	}
}

func recordsOf(t *testing.T, s *Store) string {
	t.Helper()
	var all []byte
	if err := s.Scan('x', nil, nil, func(key, value []byte) error {
		all = fmt.Appendf(all, "%s=%s\n", key, value)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return string(all)
}
