package app

import (
	"bytes"
	"runtime"
	"testing"
)

//go:noinline
func held() [][]byte {
	var all [][]byte
	for range 6000 {
		all = append(all, make([]byte, 10_000))
	}
	return append(all, bytes.Repeat([]byte{1}, 20<<20))
}

// TestHeapMemory: what a function holds is counted with its part, whatever the sizes, and no more.
func TestHeapMemory(t *testing.T) {
	parts := []heapPart{{"none", []string{"github.com/isowatch/isowatch/internal/app.nobody"}}, {"held", []string{"github.com/isowatch/isowatch/internal/app.held"}}}
	for range 2 { // a profile is as of the collection before
		runtime.GC()
	}
	before := heapMemory(parts)
	all := held()
	for range 2 {
		runtime.GC()
	}
	got := heapMemory(parts)
	want := before[1] + 60_000_000 + 20<<20
	if got[0] != 0 || got[1] < want*7/10 || got[1] > want*13/10 {
		t.Errorf("%v, want none and some %d bytes", got, want)
	}
	runtime.KeepAlive(all)
}
