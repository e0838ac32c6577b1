package app

import (
	"math"
	"runtime"
	"strings"
)

// heapPart names memory by the functions that ask for it.
type heapPart struct {
	name  string
	marks []string // beginnings of the names of functions
}

// heapParts are not counted where they are used: the server does not tell, and texts of findings are shared.
var heapParts = []heapPart{
	{"nats", []string{"github.com/nats-io/nats-server/"}},
	{"findings", []string{
		"github.com/isowatch/isowatch/window.(*finder).publish", "github.com/isowatch/isowatch/window.(*reports).upgrade",
		"github.com/isowatch/isowatch/window.(*decodedRecords).",
	}},
}

// heapMemory tells the bytes that the parts take of the heap, as of the latest collection. The runtime samples one in some
// 512 KiB: 100 MiB are right within a seventh or so. Asking takes some milliseconds.
func heapMemory(parts []heapPart) []int64 {
	bytes := make([]int64, len(parts))
	var records []runtime.MemProfileRecord
	for n, ok := runtime.MemProfile(nil, false); !ok; {
		records = make([]runtime.MemProfileRecord, n+50)
		if n, ok = runtime.MemProfile(records, false); ok {
			records = records[:n]
		}
	}
	for i := range records {
		r := &records[i]
		if at := partOf(r.Stack(), parts); at >= 0 {
			bytes[at] += unsampled(r.InUseObjects(), r.InUseBytes())
		}
	}
	return bytes
}

// partOf is the first part with a function on the stack, -1 if none has one.
func partOf(stack []uintptr, parts []heapPart) int {
	frames := runtime.CallersFrames(stack)
	for {
		f, more := frames.Next()
		for i := range parts {
			for _, mark := range parts[i].marks {
				if strings.HasPrefix(f.Function, mark) {
					return i
				}
			}
		}
		if !more {
			return -1
		}
	}
}

// unsampled estimates the bytes from so many objects with so many bytes that were sampled. The chance of a sample grows
// with the object's size, as of a Poisson process along the bytes.
func unsampled(objects, bytes int64) int64 {
	rate := float64(runtime.MemProfileRate)
	if objects == 0 || rate <= 1 {
		return bytes
	}
	each := float64(bytes) / float64(objects)
	return int64(float64(bytes) / (1 - math.Exp(-each/rate)))
}
